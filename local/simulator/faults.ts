/** Faults that decide a create's answer. At most one of these takes effect per request, in this order. */
const answerFaults = ["rejected", "rate_limited", "server_error", "timeout", "lost_answer"] as const;

/** Faults of a prediction that was made: how it ends, what becomes of its callbacks and its output. */
const runFaults = [
  "failed",
  "aborted",
  "canceled",
  "callback_lost",
  "callback_doubled",
  "callback_reordered",
  "callback_late",
  "callback_forged",
  "output_expired",
  "output_huge",
  "output_not_image",
  "output_empty",
  "output_slow",
  "output_flaky",
  "output_padded",
] as const;

export const faultNames = [...answerFaults, ...runFaults] as const;
export type FaultName = (typeof faultNames)[number];
export type AnswerFault = (typeof answerFaults)[number];

export function isFaultName(name: string): name is FaultName {
  return faultNames.some((known) => known === name);
}

/** Faults to apply to the next `times` creates (of one model when `model` is given). */
export type ArmedFault = { fault: FaultName; times: number; value?: string | undefined; model?: string | undefined };

/** What goes wrong with one create: perhaps its answer, and faults of the prediction with their values ("" when none). */
export type Faults = { answer: AnswerFault | null; answerValue: string; run: ReadonlyMap<FaultName, string> };

const directivePattern = /\[\[fault:([a-z_]+)(?:=([^\]]*))?\]\]/g;
const countersKept = 10_000;
/**
 * Some HTTP clients send a request again by themselves, at once, when a reused connection closes without an answer (Deno's
 * fetch does, even a POST). Such a repetition belongs to the same lost answer: it makes a prediction, as at the provider,
 * and its answer is lost too.
 */
const resendWindowMs = 100;

/** The directives in a prompt, by name; unknown names are left out (see {@link unknownDirective}). */
export function directives(prompt: string): Map<FaultName, string> {
  const found = new Map<FaultName, string>();
  for (const [, name = "", value = ""] of prompt.matchAll(directivePattern)) {
    if (isFaultName(name)) found.set(name, value);
  }
  return found;
}

/** A directive that names no fault: a typing error in a test, which must not pass for a fault that was handled. */
export function unknownDirective(prompt: string): string | null {
  const misspelt = [...prompt.matchAll(/\[\[fault:([^\]]*)\]\]/g)].find(([, body = ""]) => {
    return !isFaultName(body.split("=", 1)[0] ?? "");
  });
  return misspelt?.[1] ?? null;
}

/** Keeps which faults are still to happen. */
export class FaultBook {
  #armed: ArmedFault[] = [];
  /** How often an answer fault has struck a prompt, so that the repeated create gets through. */
  readonly #struck = new Map<string, number>();
  /** When the answer for a prompt was lost last. */
  readonly #lost = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  arm(fault: ArmedFault): void {
    this.#armed.push({ ...fault });
  }

  clear(): void {
    this.#armed = [];
    this.#struck.clear();
    this.#lost.clear();
  }

  get armed(): readonly ArmedFault[] {
    return this.#armed;
  }

  /** Uses up and returns what shall go wrong with a create of `model` with this prompt. */
  take(model: string, prompt: string): Faults {
    const asked = directives(prompt);
    const armed = this.#armed.filter((one) => one.model === undefined || one.model === model);
    if (this.#now() - (this.#lost.get(prompt) ?? Number.NEGATIVE_INFINITY) < resendWindowMs) {
      return this.#withRun(asked, armed, "lost_answer", "");
    }
    for (const name of answerFaults) {
      // The value of such a directive is a count, so it is not a value for the answer.
      const struck = asked.has(name) && this.#strikes(name, prompt, asked.get(name) ?? "");
      const entry = struck ? undefined : armed.find((one) => one.fault === name);
      if (!struck && !entry) continue;
      if (entry) this.#use(entry);
      if (name !== "lost_answer") return { answer: name, answerValue: entry?.value ?? "", run: new Map() };
      this.#rememberLost(prompt);
      return this.#withRun(asked, armed, name, "");
    }
    return this.#withRun(asked, armed, null, "");
  }

  #withRun(
    asked: ReadonlyMap<FaultName, string>,
    armed: readonly ArmedFault[],
    answer: AnswerFault | null,
    answerValue: string,
  ): Faults {
    const run = new Map<FaultName, string>();
    for (const name of runFaults) {
      const entry = armed.find((one) => one.fault === name);
      const value = asked.get(name) ?? entry?.value ?? (entry ? "" : undefined);
      if (entry) this.#use(entry);
      if (value !== undefined) run.set(name, value);
    }
    return { answer, answerValue, run };
  }

  #rememberLost(prompt: string): void {
    for (const [known, at] of this.#lost) if (this.#now() - at >= resendWindowMs) this.#lost.delete(known);
    this.#lost.set(prompt, this.#now());
  }

  #use(entry: ArmedFault): void {
    entry.times -= 1;
    if (entry.times <= 0) this.#armed = this.#armed.filter((one) => one !== entry);
  }

  /** Input that is rejected stays wrong however often it is sent; the other answer faults strike once, or `value` times. */
  #strikes(name: AnswerFault, prompt: string, value: string): boolean {
    if (name === "rejected") return true;
    const key = `${name} ${prompt}`;
    const struck = this.#struck.get(key) ?? 0;
    if (struck >= (Number.parseInt(value, 10) || 1)) return false;
    this.#struck.delete(key);
    this.#struck.set(key, struck + 1);
    const [oldest] = this.#struck.keys();
    if (this.#struck.size > countersKept && oldest !== undefined) this.#struck.delete(oldest);
    return true;
  }
}
