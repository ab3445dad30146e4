import type { Habit } from "./receiver.ts";

/** Answers at once. */
export const answers =
  (status: number, headers: Record<string, string> = {}): Habit =>
  (response) =>
    void response.writeHead(status, headers).end();

/** Takes the request and never answers. */
export const hangs: Habit = () => undefined;
