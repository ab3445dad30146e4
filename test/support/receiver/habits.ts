import type { Habit } from "./receiver.ts";

/** Answers at once. */
export const answers =
  (status: number, headers: Record<string, string> = {}, body = ""): Habit =>
  (response) =>
    void response.writeHead(status, headers).end(body);

/** Answers the first so many requests in one way and the rest in another. */
export const first =
  (turns: number, early: Habit, later: Habit): Habit =>
  (response, arrival, turn) =>
    (turn <= turns ? early : later)(response, arrival, turn);

/** Takes the request and never answers. */
export const hangs: Habit = () => undefined;

/** Closes the connection instead of answering. */
export const closes: Habit = (response) => void response.socket?.destroy();

/** Announces more bytes than it sends, then closes the connection. */
export const closesMidAnswer =
  (status: number): Habit =>
  (response) => {
    response.writeHead(status, { "content-length": "1000" });
    response.write("the first half", () => setTimeout(() => response.socket?.destroy(), 50));
  };

/** Answers with so many bytes. */
export const sends =
  (bytes: number): Habit =>
  (response) =>
    void response.writeHead(200, { "content-type": "text/plain" }).end("x".repeat(bytes));

/** Answers so much later, whether or not anybody waits for it still. */
export const answersAfter =
  (ms: number): Habit =>
  (response) =>
    void setTimeout(() => response.writeHead(200).end("late"), ms).unref();

/** Sends its answer a byte at a time and never comes to the end. */
export const drips =
  (status: number): Habit =>
  (response) => {
    response.writeHead(status);
    response.write("a");
    const timer = setInterval(() => response.write("."), 200);
    response.on("close", () => clearInterval(timer));
  };
