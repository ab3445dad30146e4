import { z } from "zod";
import { ApiError } from "../../http/errors.ts";
import { equalInConstantTime } from "../../platform/constant-time.ts";
import { invalidFields } from "../errors.ts";
import { sha256 } from "../sha256.ts";
import type { Caller, Verifier } from "./verify-session.ts";

/** A request with this header, even an empty one, comes from a server that acts for a user. */
export const ACTING_FOR = "keyframe-user";

/** Identifies the caller on paths that accept the project's secret key. */
export function createProjectVerifiers(verifyUser: Verifier, secretKey: string) {
  const project: Caller = { ownerId: null, token: secretKey };
  return {
    /** The webhook paths accept a user by session or key, or the project. If both a session and the key are sent, the session decides. */
    verifyManager: async (headers: Headers): Promise<Caller> =>
      (await isProject(headers, secretKey)) ? project : await verifyUser(headers),

    /** For the figures, which users may not see. A session sent beside the key is also refused, because it must be a mistake. */
    async verifyProject(headers: Headers): Promise<Caller> {
      if ((await isProject(headers, secretKey)) && !headers.has(ACTING_FOR)) return project;
      throw new ApiError(
        "unauthorized",
        "This path accepts only the project's secret key (sb_secret_…). Send it as apikey, or as Authorization: Bearer <key>.",
      );
    },

    /** For a server that acts for a user; Postgres checks that the user exists. Throws unauthorized, forbidden, invalid_request. */
    async verifyServer(headers: Headers): Promise<Caller> {
      if (!(await isProject(headers, secretKey))) {
        throw new ApiError(
          "forbidden",
          "Only a server with the project's secret key (sb_secret_…) may send Keyframe-User, and no session beside it. Leave the header out: a session already acts for its user.",
        );
      }
      const { data: userId } = z.guid().safeParse(headers.get(ACTING_FOR)); // a header sent twice is one text with a comma
      if (userId === undefined) {
        throw invalidFields([
          { path: "Keyframe-User", message: "Must be the id of one user, a UUID, and appear once." },
        ]);
      }
      return { ownerId: userId.toLowerCase(), token: secretKey, by: "server" };
    },
  };
}

/**
 * Whether the request has the project's secret key, in `apikey` or (older clients, Prometheus) in Authorization. Any other Authorization is a
 * session, which then decides. A wrong key throws unauthorized: it is never treated as absent.
 */
async function isProject(headers: Headers, secretKey: string): Promise<boolean> {
  const authorization = headers.get("authorization");
  const bearer = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization ?? "")?.[1];
  const keys = [headers.get("apikey"), bearer].filter((value) => value?.startsWith("sb_secret_"));
  for (const key of keys) {
    // Digests have equal lengths, so the time of the comparison reveals nothing about the key.
    if (!equalInConstantTime(await sha256(key ?? ""), await sha256(secretKey))) {
      throw new ApiError(
        "unauthorized",
        "The secret key is not this project's. Send the right one as apikey, or sign in and send the session token as Authorization: Bearer <token>.",
      );
    }
  }
  return keys.length > 0 && (authorization === null || keys.includes(bearer));
}
