import { closeSync, fstatSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import type { Change, Crm } from "./crm.ts";

/**
 * For any other CRM: each change as a line of JSON, in the order they were made. A line may come twice after a crash, so
 * a reader sets the fields of the deal `projectId` and of the contact `ownerId`, and never creates duplicates.
 *
 * @param file appended to, and on the disk before the event is answered; null: standard output
 */
export function createJsonLines(file: string | null): Crm & { close(): void } {
  const descriptor = file === null ? null : openWhole(file);
  return {
    async save({ ownerId, projectId, at, fields }: Change, webhookId) {
      const line = `${JSON.stringify({ webhookId, at, contact: { ownerId }, deal: { projectId, ownerId, ...fields } })}\n`;
      if (descriptor === null) {
        await new Promise<void>((resolve, reject) =>
          process.stdout.write(line, (error) => (error ? reject(error) : resolve())),
        );
        return;
      }
      const bytes = new TextEncoder().encode(line);
      for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
      fsyncSync(descriptor);
    },
    close: () => {
      if (descriptor !== null) closeSync(descriptor);
    },
  };
}

/** Opens for appending, without the half of a line that a crash may have left: its event was not answered and comes again. */
function openWhole(file: string): number {
  mkdirSync(dirname(file), { recursive: true });
  const descriptor = openSync(file, "a+");
  const { size } = fstatSync(descriptor);
  const last = new Uint8Array(1);
  let whole = size;
  for (; whole > 0; whole--) {
    readSync(descriptor, last, 0, 1, whole - 1);
    if (last[0] === 0x0a) break;
  }
  if (whole < size) ftruncateSync(descriptor, whole);
  return descriptor;
}
