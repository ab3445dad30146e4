import type { PendingQuery, ReservedSql } from "postgres";

// biome-ignore lint/suspicious/noExplicitAny: rows of any kind, as the driver has them
type Rows = PendingQuery<any>;
export type Unsafe = (...statement: Parameters<ReservedSql["unsafe"]>) => Rows;

/** Statements of many values (a bulk insert) are each another text, and would be kept for good. */
const MOST_PARAMETERS = 32;

/** lite's call of a function, for /rest/v1/rpc. */
const CALL = /^select \* from \S+\(.*\) as "[^"]+"/;
/** What lite asks after it: which status and headers the function has set for the answer. */
const ASKS_FOR_ANSWER =
  /^\s*select current_setting\('response\.status', true\) as status,\s+current_setting\('response\.headers', true\) as headers\s*$/i;
const ANSWER =
  "select current_setting('response.status', true) as status, current_setting('response.headers', true) as headers";

/**
 * Lets lite's statements go to Postgres and back as often as those of PostgREST, and no more:
 * - With values they are prepared, once for each connection. Unprepared ones go twice, and are planned each time.
 * - What a function has said of the answer is asked for together with the call; in PostgREST it is one statement.
 *
 * @param schemaVersion another one after each change of the schema, for a prepared statement cannot return something else then
 */
export function createSendAhead(schemaVersion: () => number): (unsafe: Unsafe) => Unsafe {
  return (unsafe) => {
    let answer: Rows | undefined;
    return (text, parameters = [], options) => {
      if (answer !== undefined && ASKS_FOR_ANSWER.test(text)) {
        const asked = answer;
        answer = undefined;
        return asked;
      }
      const prepare = parameters.length > 0 && parameters.length <= MOST_PARAMETERS;
      const sent = unsafe(prepare ? `${text} -- ${schemaVersion()}` : text, parameters, { ...options, prepare });
      if (CALL.test(text)) {
        sent.execute(); // a query is sent when somebody waits for it, and this one has to be the first
        answer = unsafe(ANSWER, [], { prepare: true }).execute();
        answer.catch(() => undefined); // when the call fails nobody asks
      }
      return sent;
    };
  };
}
