import type { Habit } from "./receiver.ts";

/** Answers at once. */
export const answers =
  (status: number, headers: Record<string, string> = {}, body = ""): Habit =>
  (response) =>
    void response.writeHead(status, headers).end(body);

/** Answers each request in its own way, and all after the last in the last one's. */
export const inTurn =
  (...habits: [Habit, ...Habit[]]): Habit =>
  (response, arrival, turn) =>
    (habits[turn - 1] ?? habits.at(-1) ?? habits[0])(response, arrival, turn);

/** Takes the request and never answers. */
export const hangs: Habit = () => undefined;

/** Closes the connection instead of answering. */
export const closes: Habit = (response) => void response.socket?.destroy();
