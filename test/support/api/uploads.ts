import type postgres from "postgres";
import { expect } from "vitest";
import { leftBehind } from "./database.ts";
import type { User } from "./user.ts";

export const UPLOADS = "/api/projects/reference-images";

export function imageForm(
  image: Uint8Array<ArrayBuffer>,
  type = "image/png",
  { name = "a.png", field = "file" } = {},
): FormData {
  const form = new FormData();
  form.append(field, new File([image], name, { type }));
  return form;
}

/** Sends an upload that stores nothing. Returns its status, code and sentence. */
export async function refusedUpload(sql: postgres.Sql, user: User, body: BodyInit, type?: string) {
  const before = await leftBehind(sql, user.id);
  const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
  const { status, error } = await user.call(UPLOADS, { body, headers });
  expect(await leftBehind(sql, user.id)).toEqual(before);
  return [status, error?.code, error?.message] as const;
}
