import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, inject } from "vitest";
import { seen } from "./watch.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder where each test file leaves what it saw. */
    openApiSeen: string;
  }
}

/** Leaves what this test file saw for the summary. */
export async function noteSeen(): Promise<void> {
  const name = basename(expect.getState().testPath ?? "unknown");
  await writeFile(join(inject("openApiSeen"), name), [...seen].join("\n"));
}
