"""Counts the states of the programs beside it, which are written here a second time: by hand, as
handlers of events, and searched without any trick.

    oracle.py MODEL MODE     MODEL: see MODELS   MODE: chains or turns
"""

import sys


class Commit:
    """commit.olg: n0 asks n1 and n2."""

    nodes = 3
    script = [(0, ("start",))]
    # What tables hold, and what waits in the inbox.
    start = [((frozenset(),), (("facts",),)), ((None, None), ()), ((None, None), ())]

    def turn(self, node, held, event):
        """All that may come of a turn: what is held, events that follow, messages."""
        kind, *rest = event
        if kind == "facts":
            yield held, [], []
        elif kind == "start":
            yield held, [], [(1, ("prepare",)), (2, ("prepare",))]
        elif kind == "prepare":
            for vote in ("yes", "no"):
                decision = "abort" if vote == "no" else held[1]
                yield (vote, decision), [], [(0, ("vote", node, vote))]
        elif kind == "vote" and rest[1] == "no":
            yield held, [], [(1, ("told", "abort")), (2, ("told", "abort"))]
        elif kind == "vote":
            voted = held[0] | {rest[0]}
            yield (voted,), [("votes", len(voted))] if voted != held[0] else [], []
        elif kind == "votes":
            told = [(1, ("told", "commit")), (2, ("told", "commit"))] if rest == [2] else []
            yield held, [], told
        elif kind == "told":
            assert held[1] in (None, rest[0])
            yield (held[0], rest[0]), [], []


class Paxos:
    """paxos.olg with one ballot of n0 and one of n4, or of n0 alone."""

    nodes = 5

    def __init__(self, ballots):
        self.script = [(0, ("propose", 1, 7)), (4, ("propose", 2, 8))][:ballots]
        # Promised, accepted, proposals, answers, learned, choice.
        held = (0, (0, 0), frozenset(), frozenset(), frozenset(), frozenset())
        self.start = [(held, (("facts",),)) for _ in range(self.nodes)]

    def turn(self, node, held, event):
        promised, accepted, proposals, answers, learned, choice = held
        kind, *rest = event
        follows, sends = [], []
        if kind == "propose":
            proposals |= {tuple(rest)}
            sends = [(to, ("prepare", node, rest[0])) for to in (1, 2, 3)]
        elif kind == "prepare" and rest[1] > promised:
            promised = rest[1]
            sends = [(rest[0], ("promise", rest[1], node, *accepted))]
        elif kind == "promise":
            ballot = rest[0]
            before = [answer for answer in answers if answer[0] == ballot]
            answers |= {tuple(rest)}
            count = len([answer for answer in answers if answer[0] == ballot])
            follows = [("answers", ballot, count)] if count != len(before) else []
        elif kind == "answers" and rest[1] == 2:
            ballot = rest[0]
            best = max((answer[2], answer[3]) for answer in answers if answer[0] == ballot)
            own = [value for (of, value) in proposals if of == ballot][0]
            value = best[1] if best[0] > 0 else own
            sends = [(to, ("accept", ballot, value)) for to in (1, 2, 3)]
        elif kind == "accept" and rest[0] >= promised:
            promised, accepted = rest[0], (rest[0], rest[1])
            sends = [(0, ("learn", rest[0], node, rest[1]))]
        elif kind == "learn":
            ballot, value = rest[0], rest[2]
            before = learned
            learned |= {tuple(rest)}
            count = len([it for it in learned if it[0] == ballot and it[2] == value])
            follows = [("learns", value, count)] if learned != before else []
        elif kind == "learns" and rest[1] == 2:
            choice |= {rest[0]}
            assert len(choice) == 1
        yield (promised, accepted, proposals, answers, learned, choice), follows, sends


class Register:
    """register.olg with one client that writes, or another that reads, too."""

    def __init__(self, clients):
        operations = [(3, ("operate", 1, 1)), (4, ("operate", 2, 0))][:clients]
        self.nodes, self.script = 3 + clients, operations
        # Stored; wanted, answers, choice, kept, done.
        client = (None, frozenset(), None, frozenset(), None)
        held = [(0, 0)] * 3 + [client] * clients
        self.start = [(it, (("facts",),)) for it in held]

    def turn(self, node, held, event):
        kind, *rest = event
        follows, sends = [], []
        if kind == "facts":
            pass
        elif kind == "get":
            sends = [(rest[0], ("got", node, *held))]
        elif kind == "put":
            held = max(held, (rest[1], rest[2]))
            sends = [(rest[0], ("ack", node))]
        else:
            wanted, answers, choice, kept, done = held
            if kind == "operate":
                wanted = tuple(rest)
                sends = [(to, ("get", node)) for to in range(3)]
            elif kind == "got":
                answers |= {tuple(rest)}
                follows = [("answers", len(answers))]
            elif kind == "answers" and rest[0] == 2:
                (stamp, value), (client, own) = max(it[1:] for it in answers), wanted
                choice = ((stamp // 10 + 1) * 10 + client, own) if own > 0 else (stamp, value)
                sends = [(to, ("put", node, *choice)) for to in range(3)]
            elif kind == "ack":
                kept |= {rest[0]}
                follows = [("keepers", len(kept))]
            elif kind == "keepers" and rest[0] == 2:
                done = choice
            held = (wanted, answers, choice, kept, done)
        yield held, follows, sends


class Ring:
    """ring.olg."""

    def __init__(self, nodes):
        self.nodes, self.script = nodes, [(node, ("start",)) for node in range(nodes)]
        self.start = [(None, (("facts",),)) for _ in range(nodes)]

    def turn(self, node, held, event):
        kind, *rest = event
        to = (node - 1) % self.nodes
        sends = []
        if kind == "start":
            sends = [(to, ("token", node))]
        elif kind == "token" and rest[0] > node:
            sends = [(to, event)]
        elif kind == "elected" or kind == "token" and rest[0] == node:
            sends = [(to, ("elected", rest[0]))] if held is None else []
            assert held in (None, rest[0])
            held = rest[0]
        yield held, [], sends


class Mutex:
    """mutex.olg: n1 and n2 want what n0 is."""

    def __init__(self):
        self.nodes, self.script = 3, [(1, ("want",)), (2, ("want",))]
        # Clock, since when it wants, granted by, waiting, holds.
        held = (0, None, frozenset(), frozenset(), False)
        self.start = [(held, (("facts",),)) for _ in range(self.nodes)]

    def turn(self, node, held, event):
        clock, wants, granted, waiting, holds = held
        kind, *rest = event
        follows, sends = [], []
        other = 3 - node
        if kind == "want":
            clock = wants = clock + 1
            sends = [(other, ("request", node, wants))]
        elif kind == "request":
            clock = max(clock, rest[1])
            if wants is not None and (wants, node) < (rest[1], rest[0]):
                waiting |= {rest[0]}
            else:
                sends = [(rest[0], ("grant", node))]
        elif kind == "grant":
            granted |= {rest[0]}
            follows = [("grants", len(granted))]
        elif kind == "grants":
            holds, sends = True, [(0, ("use", node))]
        elif kind == "use":
            sends = [(rest[0], ("used",))]
        elif kind == "used":
            sends = [(to, ("grant", node)) for to in waiting]
            wants, waiting, holds = None, frozenset(), False
        yield (clock, wants, granted, waiting, holds), follows, sends


def chains(model, node, held, inbox):
    """All that may come of all events that wait and what follows from them."""
    if not inbox:
        yield held, ()
        return
    for after, follows, sends in model.turn(node, held, inbox[0]):
        for end, more in chains(model, node, after, inbox[1:] + tuple(follows)):
            yield end, tuple(sends) + more


def replaced(nodes, node, state):
    return nodes[:node] + (state,) + nodes[node + 1 :]


def steps(model, mode, state):
    nodes, network, left = state
    arrivals = [(i, to, event) for i, (to, event) in enumerate(network)]
    arrivals = [(network[:i] + network[i + 1 :], left, to, event) for i, to, event in arrivals]
    for i, (to, event) in enumerate(left):
        arrivals.append((network, left[:i] + left[i + 1 :], to, event))
    for network_left, script_left, to, event in arrivals:
        held, inbox = nodes[to]
        inbox += (event,)
        if mode == "turns":
            yield replaced(nodes, to, (held, inbox)), network_left, script_left
            continue
        for after, sends in chains(model, to, held, inbox):
            network_after = tuple(sorted(network_left + sends, key=repr))
            yield replaced(nodes, to, (after, ())), network_after, script_left
    for node, (held, inbox) in enumerate(nodes):
        if inbox:
            for after, follows, sends in model.turn(node, held, inbox[0]):
                network_after = tuple(sorted(network + tuple(sends), key=repr))
                waiting = inbox[1:] + tuple(follows)
                yield replaced(nodes, node, (after, waiting)), network_after, left


def count(model, mode):
    nodes = tuple(model.start)
    if mode == "chains":
        nodes = tuple((held, ()) for held, _ in nodes)
    first = (nodes, (), tuple(model.script))
    seen, waiting = {first}, [first]
    while waiting:
        for state in steps(model, mode, waiting.pop()):
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return len(seen)


MODELS = {
    "commit": Commit,
    "paxos-1": lambda: Paxos(1),
    "paxos-2": lambda: Paxos(2),
    "register-1": lambda: Register(1),
    "register-2": lambda: Register(2),
    "ring-3": lambda: Ring(3),
    "ring-4": lambda: Ring(4),
    "mutex": Mutex,
}
print(count(MODELS[sys.argv[1]](), sys.argv[2]))
