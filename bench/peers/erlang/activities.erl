%% The cases of the component benchmarks as an Erlang programmer writes them: a process for each
%% activity, its mailbox for a channel.
%%
%% Usage: erl -noshell -run activities main CASE PARAMETERS; cases are ring NODES ROUNDS,
%% prodcons PRODUCERS CONSUMERS ITEMS, sieve LIMIT, spin ACTIVITIES LOOPS, spawn COUNT. Prints one
%% JSON object: what was measured, and the result.
-module(activities).
-export([main/1]).

main([Case | Texts]) ->
    try run(Case, [list_to_integer(Text) || Text <- Texts]) of
        Line -> io:put_chars(Line), halt(0)
    catch
        _:Reason -> io:format(standard_error, "error: ~p~n", [Reason]), halt(1)
    end.

run("spawn", [Count]) ->
    {Alive, Bytes} = on_its_own(fun() -> sleepers(Count) end),
    io_lib:format("{\"result\":~b,\"bytes\":~.1f}~n", [Alive, Bytes]);
run(Case, Parameters) ->
    Work = work(Case, Parameters),
    Threads = threads(),
    Cost = -cpu_ns(Threads) + cpu_ns(Threads),
    Cpu = cpu_ns(Threads),
    Start = erlang:monotonic_time(nanosecond),
    Result = on_its_own(Work),
    WallTaken = erlang:monotonic_time(nanosecond) - Start,
    CpuTaken = max(cpu_ns(Threads) - Cpu - Cost, 0),
    Format = "{\"cpu_s\":~.9f,\"wall_s\":~.9f,\"result\":~b}~n",
    io_lib:format(Format, [CpuTaken / 1.0e9, WallTaken / 1.0e9, Result]).

work("ring", [Nodes, Rounds]) -> fun() -> ring(Nodes, Rounds) end;
work("prodcons", [P, C, Items]) -> fun() -> prodcons(P, C, Items) end;
work("sieve", [Limit]) -> fun() -> sieve(Limit) end;
work("spin", [Activities, Loops]) -> fun() -> spin(Activities, Loops) end.

%% In a process without the history of this one.
on_its_own(Work) ->
    Me = self(),
    {Pid, Monitor} = spawn_monitor(fun() -> Me ! {worked, self(), Work()} end),
    receive
        {worked, Pid, Result} -> demonitor(Monitor, [flush]), Result;
        {'DOWN', Monitor, process, Pid, Reason} -> error(Reason)
    end.

%% A token, which counts its hops, passed round a ring.

ring(Nodes, Rounds) ->
    Last = lists:foldl(fun(_, Next) -> spawn_link(fun() -> node_of_ring(Next, Rounds) end) end,
                       self(), lists:seq(2, Nodes)),
    rounds(Last, 0, Rounds).

node_of_ring(_, 0) -> ok;
node_of_ring(Next, Rounds) ->
    receive Hops -> Next ! Hops + 1 end,
    node_of_ring(Next, Rounds - 1).

rounds(_, Hops, 0) -> Hops;
rounds(Next, Hops, Rounds) ->
    Next ! Hops + 1,
    receive Back -> rounds(Next, Back, Rounds - 1) end.

%% Producers and consumers with a buffer of 10, which is a process of its own.

-define(SIZE, 10).

prodcons(Producers, Consumers, Items) ->
    Me = self(),
    Buffer = spawn_link(fun() -> buffer(queue:new(), 0, Producers, Consumers) end),
    repeat(Producers, fun() -> spawn_link(fun() -> produce(Buffer, 1, Items) end) end),
    repeat(Consumers, fun() -> spawn_link(fun() -> Me ! {sum, consume(Buffer, 0)} end) end),
    total(Consumers, 0).

total(0, Sum) -> Sum;
total(Consumers, Sum) -> receive {sum, More} -> total(Consumers - 1, Sum + More) end.

%% Producing: how many producers have not ended; Consuming: how many consumers know of no end.
buffer(_, 0, 0, 0) -> ok;
buffer(Queue, 0, 0, Consuming) ->
    receive {get, From} -> From ! ended, buffer(Queue, 0, 0, Consuming - 1) end;
buffer(Queue, 0, Producing, Consuming) ->
    receive
        {put, From, X} -> From ! put, buffer(queue:in(X, Queue), 1, Producing, Consuming);
        ended -> buffer(Queue, 0, Producing - 1, Consuming)
    end;
buffer(Queue, ?SIZE, Producing, Consuming) ->
    receive {get, From} -> buffer(give(From, Queue), ?SIZE - 1, Producing, Consuming) end;
buffer(Queue, Count, Producing, Consuming) ->
    receive
        {put, From, X} -> From ! put, buffer(queue:in(X, Queue), Count + 1, Producing, Consuming);
        {get, From} -> buffer(give(From, Queue), Count - 1, Producing, Consuming);
        ended -> buffer(Queue, Count, Producing - 1, Consuming)
    end.

give(From, Queue) ->
    {{value, X}, Rest} = queue:out(Queue),
    From ! {item, X},
    Rest.

produce(Buffer, X, Items) when X > Items -> Buffer ! ended;
produce(Buffer, X, Items) ->
    Buffer ! {put, self(), X},
    receive put -> produce(Buffer, X + 1, Items) end.

consume(Buffer, Sum) ->
    Buffer ! {get, self()},
    receive
        {item, X} -> consume(Buffer, Sum + X);
        ended -> Sum
    end.

%% Primes up to a limit: each has a filter, which starts the next one. The numbers end with a 0;
%% then the count comes from the last filter.

sieve(Limit) ->
    Me = self(),
    First = spawn_link(fun() -> filter(1, Me) end),
    numbers(First, 2, Limit + 1),
    receive {primes, Count} -> Count end.

numbers(First, End, End) -> First ! 0;
numbers(First, N, End) -> First ! N, numbers(First, N + 1, End).

filter(Position, Main) -> receive Prime -> filter(Prime, none, Position, Main) end.

filter(Prime, Next, Position, Main) ->
    receive
        0 when Next =:= none -> Main ! {primes, Position};
        0 -> Next ! 0;
        N when N rem Prime =:= 0 -> filter(Prime, Next, Position, Main);
        N when Next =:= none ->
            Started = spawn_link(fun() -> filter(Position + 1, Main) end),
            Started ! N,
            filter(Prime, Started, Position, Main);
        N -> Next ! N, filter(Prime, Next, Position, Main)
    end.

%% Hot loops, and the sum of what they come to.

spin(Activities, Loops) ->
    Me = self(),
    Start = fun(Seed) -> spawn_link(fun() -> Me ! {sum, spin(Seed, 1, Loops)} end) end,
    lists:foreach(Start, lists:seq(1, Activities)),
    total(Activities, 0).

spin(X, I, Loops) when I > Loops -> X;
spin(X, I, Loops) -> spin((X * 5 + I) band 8191, I + 1, Loops).

%% Processes that wait for a message: how many answer when they get it, and the bytes of each.

sleepers(Count) ->
    Me = self(),
    Before = resident(),
    Pids = [begin
                Pid = spawn(fun() -> sleeper(Me) end),
                receive Pid -> Pid end
            end || _ <- lists:seq(1, Count)],
    % The list of the clients does not count; it is all that this process holds.
    garbage_collect(),
    {memory, Own} = process_info(self(), memory),
    Bytes = (resident() - Before - Own) / Count,
    Answer = fun(Pid, Sum) -> Pid ! 1, receive {awake, X} -> Sum + X end end,
    {lists:foldl(Answer, 0, Pids), Bytes}.

sleeper(Client) ->
    Client ! self(),
    receive X -> Client ! {awake, X} end.

resident() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = string:lexemes(Text, " "),
    binary_to_integer(Pages) * 4096.

repeat(0, _) -> ok;
repeat(Times, Work) -> Work(), repeat(Times - 1, Work).

%% CPU time of these threads in nanoseconds, from the kernel; statistics(runtime) has only
%% milliseconds. Asking costs some tenths of one, which is measured and taken off.
cpu_ns(Threads) -> lists:sum([thread_cpu_ns(Thread) || Thread <- Threads]).

thread_cpu_ns(Thread) ->
    {ok, Text} = file:read_file("/proc/self/task/" ++ Thread ++ "/schedstat"),
    binary_to_integer(hd(string:lexemes(Text, " "))).

%% All threads: the machine starts and ends none while it works.
threads() ->
    {ok, Threads} = file:list_dir("/proc/self/task"),
    Threads.
