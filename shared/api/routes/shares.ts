import { z } from "zod";
import { type Share, share } from "../../contract/shares.ts";
import { answerBase } from "../data/database.ts";
import { fromRow, toRow } from "../data/rows.ts";
import { answerHeaders } from "../http/respond.ts";
import type { Handler } from "./handler.ts";

const shareRow = fromRow(share.omit({ shareId: true }).extend({ id: z.string() }));
const mapShare = ({ id, ...fields }: z.infer<typeof shareRow>): Share => ({ shareId: id, ...fields });

const shareAnswer = answerBase.extend({ share: shareRow });
const createdAnswer = shareAnswer.extend({ token: z.string() });
const sharesAnswer = answerBase.extend({ shares: z.array(shareRow) });

export const shareFilm: Handler<"shareFilm"> = async ({ path, body, idempotency, caller }, { database }) => {
  const args = { film_id: path("filmId"), ...toRow(body), ...idempotency };
  const answer = await database.call("share_film", args, caller, createdAnswer);
  return { data: { ...mapShare(answer.share), token: answer.token }, headers: answerHeaders(answer) };
};

export const listShares: Handler<"listShares"> = async ({ path, caller }, { database }) => {
  const answer = await database.read("list_film_shares", { film_id: path("filmId") }, caller, sharesAnswer);
  return { data: { shares: answer.shares.map(mapShare) }, headers: answerHeaders(answer) };
};

export const revokeShare: Handler<"revokeShare"> = async ({ path, caller }, { database }) => {
  const args = { film_id: path("filmId"), share_id: path("shareId") };
  const answer = await database.call("revoke_film_share", args, caller, shareAnswer);
  return { data: mapShare(answer.share), headers: answerHeaders(answer) };
};

export const readShared: Handler<"readShared"> = async ({ path }, { sharedFilms }) => ({
  data: await sharedFilms(path("token")),
});
