import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * The cases of the component benchmarks as a Java programmer writes them: a virtual thread for each
 * activity, blocking queues between them.
 *
 * <p>Usage: Peer CASE PARAMETERS; cases are ring NODES ROUNDS, prodcons PRODUCERS CONSUMERS ITEMS,
 * sieve LIMIT, spin ACTIVITIES LOOPS, spawn COUNT. Prints one JSON object: what was measured, and
 * the result. Virtual threads are found by name, so that a compiler older than the machine that
 * runs this will do.
 */
public final class Peer {
    /** How many messages wait in a queue between two activities: as many as in ours. */
    private static final int SLOTS = 4;

    /** A part of a program that runs on its own. */
    private interface Activity {
        void run() throws InterruptedException;
    }

    private interface Case {
        long run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        long[] p = new long[arguments.length];
        for (int i = 1; i < arguments.length; i++) {
            p[i] = Long.parseLong(arguments[i]);
        }
        if (arguments[0].equals("spawn")) {
            spawn((int) p[1]);
            return;
        }
        Case one = switch (arguments[0]) {
            case "ring" -> () -> ring(p[1], p[2]);
            case "prodcons" -> () -> prodcons(p[1], p[2], p[3]);
            case "sieve" -> () -> sieve(p[1]);
            case "spin" -> () -> spin(p[1], p[2]);
            default -> throw new IllegalArgumentException("no case " + arguments[0]);
        };
        long cpu = cpuNs(), wall = System.nanoTime();
        long result = one.run();
        double wallTaken = (System.nanoTime() - wall) / 1e9, cpuTaken = (cpuNs() - cpu) / 1e9;
        System.out.println(
                "{\"cpu_s\":" + cpuTaken + ",\"wall_s\":" + wallTaken + ",\"result\":" + result + "}");
    }

    private static final java.lang.reflect.Method START = starter();

    private static java.lang.reflect.Method starter() {
        try {
            return Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException("virtual threads need Java 21", e);
        }
    }

    private static void start(Activity activity) {
        Runnable body = () -> {
            try {
                activity.run();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
        try {
            START.invoke(null, body);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static BlockingQueue<Long> queue(int size) {
        return new ArrayBlockingQueue<>(size);
    }

    /** A token, which counts its hops, passed round a ring. */
    private static long ring(long nodes, long rounds) throws InterruptedException {
        BlockingQueue<Long> first = queue(SLOTS), in = first, ended = queue(1);
        for (long i = 1; i < nodes; i++) {
            BlockingQueue<Long> from = in, to = queue(SLOTS);
            start(() -> {
                for (long round = 0; round < rounds; round++) {
                    to.put(from.take() + 1);
                }
            });
            in = to;
        }
        BlockingQueue<Long> last = in;
        start(() -> {
            long hops = 0;
            for (long round = 0; round < rounds; round++) {
                first.put(hops + 1);
                hops = last.take();
            }
            ended.put(hops);
        });
        return ended.take();
    }

    /** The sum of what producers send consumers through a buffer of 10; 0 ends a consumer. */
    private static long prodcons(long producers, long consumers, long items)
            throws InterruptedException {
        BlockingQueue<Long> buffer = queue(10), sums = queue(SLOTS), ended = queue(SLOTS);
        for (long i = 0; i < producers; i++) {
            start(() -> {
                for (long x = 1; x <= items; x++) {
                    buffer.put(x);
                }
                ended.put(0L);
            });
        }
        for (long i = 0; i < consumers; i++) {
            start(() -> {
                long sum = 0;
                for (long x = buffer.take(); x != 0; x = buffer.take()) {
                    sum += x;
                }
                sums.put(sum);
            });
        }
        for (long i = 0; i < producers; i++) {
            ended.take();
        }
        for (long i = 0; i < consumers; i++) {
            buffer.put(0L);
        }
        return sum(sums, consumers);
    }

    private static long sum(BlockingQueue<Long> from, long count) throws InterruptedException {
        long sum = 0;
        for (long i = 0; i < count; i++) {
            sum += from.take();
        }
        return sum;
    }

    /** Primes up to a limit: each has a filter, which starts the next; 0 ends the numbers. */
    private static long sieve(long limit) throws InterruptedException {
        BlockingQueue<Long> first = queue(SLOTS), primes = queue(1);
        start(() -> filter(first, 1, primes));
        for (long n = 2; n <= limit; n++) {
            first.put(n);
        }
        first.put(0L);
        return primes.take();
    }

    private static void filter(BlockingQueue<Long> in, long position, BlockingQueue<Long> primes)
            throws InterruptedException {
        long prime = in.take();
        BlockingQueue<Long> next = null;
        for (long n = in.take(); n != 0; n = in.take()) {
            if (n % prime == 0) {
                continue;
            }
            if (next == null) {
                BlockingQueue<Long> started = queue(SLOTS);
                start(() -> filter(started, position + 1, primes));
                next = started;
            }
            next.put(n);
        }
        if (next == null) {
            primes.put(position);
        } else {
            next.put(0L);
        }
    }

    /** Hot loops, and the sum of what they come to. */
    private static long spin(long activities, long loops) throws InterruptedException {
        BlockingQueue<Long> results = queue(SLOTS);
        for (long seed = 1; seed <= activities; seed++) {
            long start = seed;
            start(() -> {
                long x = start;
                for (long i = 1; i <= loops; i++) {
                    x = (x * 5 + i) & 8191;
                }
                results.put(x);
            });
        }
        return sum(results, activities);
    }

    /** Threads that wait for a message on a queue of their own: who answers, and bytes of each. */
    @SuppressWarnings("unchecked")
    private static void spawn(int count) throws InterruptedException {
        BlockingQueue<Long>[] inboxes = (BlockingQueue<Long>[]) new BlockingQueue<?>[count];
        BlockingQueue<Long> answers = queue(SLOTS);
        long before = used();
        for (int i = 0; i < count; i++) {
            BlockingQueue<Long> inbox = queue(SLOTS);
            inboxes[i] = inbox;
            start(() -> {
                answers.put(0L);
                answers.put(inbox.take());
            });
            answers.take();
        }
        double bytes = (used() - before) / (double) count;
        long alive = 0;
        for (BlockingQueue<Long> inbox : inboxes) {
            inbox.put(1L);
            alive += answers.take();
        }
        System.out.println("{\"result\":" + alive + ",\"bytes\":" + bytes + "}");
    }

    /** Bytes of the heap in use: the memory of the process includes what the heap keeps free. */
    private static long used() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    /** User and system time of all threads so far, from the kernel. */
    private static long cpuNs() throws Exception {
        // utime and stime are fields 14 and 15, in hundredths; the name before them is in brackets.
        String stat = Files.readString(Path.of("/proc/self/stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) * 10_000_000L;
    }
}
