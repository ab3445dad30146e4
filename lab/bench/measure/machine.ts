import { cpus } from "node:os";

/** What the figures were measured on. */
export type Machine = { date: string; system: string; cores: number; processor: string; deno: string };

export const describeMachine = (): Machine => ({
  date: new Date().toISOString().slice(0, 10),
  system: `${Deno.build.os} ${Deno.build.arch}`,
  cores: navigator.hardwareConcurrency,
  processor: cpus()[0]?.model.trim() ?? "unknown",
  deno: Deno.version.deno,
});
