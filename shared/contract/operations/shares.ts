import { filmPath } from "../films.ts";
import { SAMPLE } from "../samples.ts";
import { createdShare, share, sharedFilm, sharedPath, shareFilmBody, shareList, sharePath } from "../shares.ts";
import type { Operation } from "./operation.ts";

const path = { filmId: SAMPLE.filmId };
const ofFilm = { tag: "Films", caller: "session", path: filmPath, errors: ["not_found"] } as const;

export const shareOperations = {
  shareFilm: {
    ...ofFilm,
    method: "POST",
    at: "/films/:filmId/share",
    summary: "Share a film by link",
    description:
      "Makes a link for people without an account. Anyone who has `token` can read the current titles, order and videos of the film (`GET /api/shared/:token`), until you revoke the share, `expiresAt` passes, or the film or your account is deleted. A film has at most 20 shares.\n\n" +
      "Only the hash of the token is stored. A request repeated with the same `Idempotency-Key` creates no second share: it returns a new token for the first one and ends the earlier token, or fails with `not_found` once that share has expired or was revoked.",
    body: shareFilmBody,
    bodyMayBeEmpty: true,
    status: 201,
    answer: createdShare,
    examples: [
      { summary: "Until it is revoked", path, body: {} },
      { summary: "Until a day", path, body: { expiresAt: "2036-11-21T12:00:00.000Z" } },
    ],
  },
  listShares: {
    ...ofFilm,
    method: "GET",
    at: "/films/:filmId/shares",
    summary: "List the shares of a film",
    description: "All that have not expired, newest first, without their tokens: only hashes are stored.",
    status: 200,
    answer: shareList,
    examples: [{ summary: "The links to a film", path }],
  },
  revokeShare: {
    ...ofFilm,
    method: "DELETE",
    at: "/films/:filmId/shares/:shareId",
    summary: "Revoke a share",
    description:
      "The link stops working at once. A video that someone has already opened plays until its signed URL expires, after an hour at most. If a repeated request answers `not_found`, the first one succeeded.",
    path: sharePath,
    status: 200,
    answer: share,
    examples: [{ summary: "One share", path: { ...path, shareId: SAMPLE.shareId } }],
  },
  readShared: {
    method: "GET",
    at: "/shared/:token",
    tag: "Films",
    summary: "Read a shared film",
    description:
      "Needs no session: the token of a share is the credential. Returns only the titles, the order and the videos of the film. The URLs are valid for at least 15 minutes; read again for new ones. Do not cache the response.\n\n" +
      "An unknown, an expired and a revoked token are all `not_found`. Each link has its own rate limit.",
    caller: "nobody",
    path: sharedPath,
    status: 200,
    answer: sharedFilm,
    errors: ["not_found", "rate_limited"],
    examples: [{ summary: "With the token of a share", path: { token: SAMPLE.shareToken } }],
  },
} as const satisfies Record<string, Operation>;
