import { z } from "zod";
import { invalidFields } from "./invalid-request.ts";

/** Where a page ended: the last row's created_at, to the microsecond, and its id, since many rows share a time. */
const position = z.tuple([z.iso.datetime({ offset: true }), z.guid()]);
export type Position = { created_at: string; id: string };

/** An opaque cursor that goes on after `row`: both values in base64url. */
export const writeCursor = ({ created_at, id }: Position): string =>
  btoa(`${created_at} ${id}`).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** Throws invalid_request unless the cursor is one that writeCursor can have written. */
export function readCursor(cursor: string): Position {
  const parsed = position.safeParse(decode(cursor)?.split(" "));
  if (!parsed.success) {
    throw invalidFields([
      { path: "cursor", message: "Is no nextCursor of this path. Leave it out to begin with the newest." },
    ]);
  }
  const [created_at, id] = parsed.data;
  return { created_at, id };
}

function decode(cursor: string): string | undefined {
  if (!/^[A-Za-z0-9_-]{1,200}$/.test(cursor)) return undefined;
  try {
    return atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined; // a length that base64 cannot have
  }
}
