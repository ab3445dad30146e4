import type { BodyOf } from "../../../client/types.ts";
import { createdShare, sharedFilm } from "../../../shared/contract/shares.ts";
import { callApi } from "./call.ts";
import { dataOf } from "./envelope.ts";
import type { User } from "./user.ts";

/** Makes a link to a film. */
export const shareFilm = async ({ post }: Pick<User, "post">, filmId: string, body: BodyOf<"shareFilm"> = {}) =>
  createdShare.parse(dataOf(await post(`/api/films/${filmId}/share`, body), 201));

/** What anybody sees who has the link. */
export const openShared = async (token: string) => sharedFilm.parse(dataOf(await callApi(`/api/shared/${token}`), 200));
