import type { BodyOf } from "../../../client/types.ts";
import { createdShare, sharedFilm } from "../../../shared/contract/shares.ts";
import { callApi } from "./call.ts";
import { dataOf } from "./envelope.ts";
import type { User } from "./user.ts";

export const shareFilm = async ({ post }: Pick<User, "post">, filmId: string, body: BodyOf<"shareFilm"> = {}) =>
  createdShare.parse(dataOf(await post(`/api/films/${filmId}/share`, body), 201));

export const openShared = async (token: string) => sharedFilm.parse(dataOf(await callApi(`/api/shared/${token}`), 200));
