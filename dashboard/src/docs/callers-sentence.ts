import type { ApiOperation } from "./operations-of.ts";

/** Who may call, in words. */
export function callersSentence({ callers, isEvent }: ApiOperation): string {
  if (isEvent) return "Keyframe sends it to your endpoint, signed. Anything else that arrives there is not from us.";
  const hasSession = callers.includes("session");
  const hasKey = callers.includes("secretKey");
  if (hasSession && hasKey) {
    return "A signed-in user, with the token of the session. Or a server, with the project's secret key as `apikey`: then it is about service-wide endpoints.";
  }
  if (hasSession) return "A signed-in user, with the token of the session.";
  if (hasKey) return "A server, with the project's secret key as `apikey`.";
  return callers.length === 0 ? "Anybody: no session is needed." : `Whoever has ${callers.join(" or ")}.`;
}
