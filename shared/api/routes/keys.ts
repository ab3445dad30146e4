import { z } from "zod";
import { createdKey, type Key, key } from "../../contract/keys.ts";
import { answerBase } from "../data/database.ts";
import { fromRow, toRow } from "../data/rows.ts";
import { answerHeaders } from "../http/respond.ts";
import type { Handler } from "./handler.ts";

const keyRow = fromRow(key.omit({ keyId: true }).extend({ id: key.shape.keyId }));
const mapKey = ({ id, ...fields }: z.infer<typeof keyRow>): Key => ({ keyId: id, ...fields });

const createdAnswer = answerBase.extend({ created: keyRow, key: createdKey.shape.key });
const keysAnswer = answerBase.extend({ keys: z.array(keyRow) });
const endedAnswer = answerBase.extend({ ended: keyRow });

export const createKey: Handler<"createKey"> = async ({ body, idempotency, caller }, { database }) => {
  const args = { ...toRow(body), ...idempotency };
  const answer = await database.call("create_key", args, caller, createdAnswer);
  return { data: { ...mapKey(answer.created), key: answer.key }, headers: answerHeaders(answer) };
};

export const listKeys: Handler<"listKeys"> = async ({ caller }, { database }) => {
  const answer = await database.read("list_keys", {}, caller, keysAnswer);
  return { data: { keys: answer.keys.map(mapKey) }, headers: answerHeaders(answer) };
};

export const revokeKey: Handler<"revokeKey"> = async ({ path, caller }, { database }) => {
  const answer = await database.call("revoke_key", { key_id: path("keyId") }, caller, endedAnswer);
  return { data: mapKey(answer.ended), headers: answerHeaders(answer) };
};
