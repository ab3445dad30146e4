import { z } from "zod";
import { type SharedFilm, sharedFilm } from "../../contract/shares.ts";
import { ApiError } from "../../http/errors.ts";
import type { Caller } from "../auth/verify-session.ts";
import { createBoundedCache } from "../bounded-cache.ts";
import { sha256 } from "../sha256.ts";
import { answerBase, type Database } from "./database.ts";
import { fromRow } from "./rows.ts";
import type { Storage } from "./storage.ts";

const shot = sharedFilm.shape.shots.element;
const video = shot.shape.video.unwrap().omit({ url: true, expiresAt: true }).extend({ path: z.string() });
const sharedAnswer = answerBase.extend({
  owner_id: z.string(),
  title: z.string(),
  shots: z.array(shot.extend({ video: fromRow(video).nullable() })),
});

/** Hashes of 64 characters, each with its owner. */
const MAX_KNOWN = 1000;

/**
 * Reads the film of a link. Throws not_found and rate_limited.
 *
 * Anyone may call. The links of an owner that this process has opened before share call slots, like one caller, and
 * all other tokens share another set: guesses delay only each other and first visits. Only the token's hash leaves this function.
 */
export function createSharedFilms(database: Database, storage: Storage, secretKey: string) {
  const known = createBoundedCache<string>(MAX_KNOWN, () => true);
  const project: Caller = { ownerId: null, token: secretKey };
  return async (token: string): Promise<SharedFilm> => {
    const hash = await sha256(token);
    const turnsOf = known.get(hash) ?? "unknown tokens";
    const args = { token_hash: hash };
    const film = await database
      .read("read_shared_film", args, project, sharedAnswer, "keyframe_worker", turnsOf)
      .catch((error: unknown) => {
        if (error instanceof ApiError && error.code === "not_found") known.forget(hash); // a revoked one must not delay the others
        throw error;
      });
    known.set(hash, `links of ${film.owner_id}`);
    const paths = film.shots.flatMap((one) => one.video?.path ?? []);
    const files = await storage.signGenerated(paths, { ownerId: film.owner_id, token: secretKey, by: "server" });
    const shots = film.shots.map(({ title, video }) => {
      if (video === null) return { title, video };
      const { path, ...fields } = video;
      const file = files.get(path);
      return { title, video: file ? { ...fields, ...file } : null };
    });
    return { title: film.title, shots };
  };
}
