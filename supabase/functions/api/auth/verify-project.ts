import { ApiError } from "../../../../shared/http/errors.ts";
import { readProjectKey } from "./project-key.ts";

/** Admits the project's secret key alone, and gives it back for the call of the database. Throws unauthorized. */
export type ProjectVerifier = (headers: Headers) => Promise<string>;

/** A session beside the key is refused: who sends both has mistaken one thing for another. */
export function createProjectVerifier(secretKey: string): ProjectVerifier {
  return async (headers) => {
    const key = await readProjectKey(headers, secretKey);
    if (key.given && (key.bearer || headers.get("authorization") === null)) return secretKey;
    throw new ApiError(
      "unauthorized",
      "This takes the project's secret key (sb_secret_…) and nothing else. Send it as apikey, or as Authorization: Bearer <key>.",
      { headers: { "WWW-Authenticate": "Bearer" } },
    );
  };
}
