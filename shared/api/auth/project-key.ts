import { z } from "zod";
import { ApiError } from "../../http/errors.ts";
import { equalInConstantTime } from "../../platform/constant-time.ts";
import { invalidFields } from "../errors.ts";
import { sha256 } from "../sha256.ts";
import type { Caller, Verifier } from "./verify-session.ts";

/** Its presence, even without a value, makes a request one of a server that acts for a user. */
export const ACTING_FOR = "keyframe-user";

/** Who calls, where the project may call by its secret key. */
export function createProjectVerifiers(verifyUser: Verifier, secretKey: string) {
  const project: Caller = { ownerId: null, token: secretKey };
  return {
    /** For the webhook paths: a user by session or key, or the project. When both a session and the key are sent, the session decides. */
    verifyManager: async (headers: Headers): Promise<Caller> =>
      (await isProject(headers, secretKey)) ? project : await verifyUser(headers),

    /** For the figures. A session sent with the key is refused as a mistake of the caller. So is a user, who may not see them. */
    async verifyProject(headers: Headers): Promise<Caller> {
      if ((await isProject(headers, secretKey)) && !headers.has(ACTING_FOR)) return project;
      throw new ApiError(
        "unauthorized",
        "This path accepts only the project's secret key (sb_secret_…). Send it as apikey, or as Authorization: Bearer <key>.",
      );
    },

    /** For a server that acts for a user; Postgres decides whether there is one. Throws unauthorized, forbidden, invalid_request. */
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
 * Whether the project calls, by its secret key in `apikey` or, as older clients and Prometheus send it, in Authorization. Anything else in
 * Authorization is a session, which decides. A wrong key throws unauthorized: it is never treated as absent.
 */
async function isProject(headers: Headers, secretKey: string): Promise<boolean> {
  const authorization = headers.get("authorization");
  const bearer = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization ?? "")?.[1];
  const keys = [headers.get("apikey"), bearer].filter((value) => value?.startsWith("sb_secret_"));
  for (const key of keys) {
    // Digests have one length: the time that the comparison takes reveals nothing about the key.
    if (!equalInConstantTime(await sha256(key ?? ""), await sha256(secretKey))) {
      throw new ApiError(
        "unauthorized",
        "The secret key is not this project's. Send the right one as apikey, or sign in and send the session token as Authorization: Bearer <token>.",
      );
    }
  }
  return keys.length > 0 && (authorization === null || keys.includes(bearer));
}
