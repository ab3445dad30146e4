import { ApiError } from "../../../../shared/http/errors.ts";
import type { Log } from "../../../../shared/platform/log.ts";

/** What a log line tells of a request. `route` is the pattern, never the path itself: that can hold anything. */
type Answered = {
  requestId: string;
  method: string;
  route: string | undefined;
  status: number;
  ownerId: string | undefined;
  milliseconds: number;
  error: Error | undefined;
};

/** One line per request: no tokens, bodies or signed addresses. A fault of ours is told with its cause. */
export function logRequest(log: Log, { error, milliseconds, ...answered }: Answered): void {
  const fields = { ...answered, duration_ms: Math.round(milliseconds * 10) / 10 };
  if (error === undefined) log.info("request", fields);
  else if (!(error instanceof ApiError)) log.error("request", { ...fields, code: "internal", cause: plain(error) });
  else {
    const { cause } = error.extra;
    const level = error.status >= 500 ? "error" : "info";
    log[level]("request", { ...fields, code: error.code, cause: cause instanceof Error ? plain(cause) : cause });
  }
}

const plain = ({ name, message, stack }: Error) => ({ name, message, stack });
