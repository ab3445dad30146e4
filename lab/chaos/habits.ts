import type { ServerResponse } from "node:http";

/** How a receiver answers. Each is one of the faults of the webhook design, but for `well`. */
export const HABITS = {
  well: (response) => void response.writeHead(204).end(),
  slow: (response) => void setTimeout(() => response.writeHead(200).end("late"), 1_500).unref(),
  hangs: () => undefined,
  server_error: (response) => void response.writeHead(500).end("broken"),
  gone: (response) => void response.writeHead(410).end(),
  redirects: (response) => void response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(),
  garbage: (response) => void response.socket?.end("this is no HTTP at all\r\n\r\n"),
  closes: (response) => void response.socket?.destroy(),
  closes_mid_answer: (response) => {
    response.writeHead(500, { "content-length": "1000" });
    response.write("the first half", () => response.socket?.destroy());
  },
  big_answer: (response) => void response.writeHead(500).end("x".repeat(200_000)),
  too_many_requests: (response) => void response.writeHead(429, { "retry-after": "1" }).end(),
} satisfies Record<string, (response: ServerResponse) => void>;

export type Habit = keyof typeof HABITS;

/** Answered with 2xx and in full: the receiver has it, and says so. */
export const TAKES_IT: readonly Habit[] = ["well", "slow"];
