import { redactedLine } from "../platform/log.ts";

/** Whether the provider rejected the content of its input or of its output. */
export type Stage = "input" | "output";

/**
 * What the provider's words say about a failed run. `kind` is null for any cause that is not listed here. `stage` is for rejected content,
 * and null if the words do not name it. `sentence` is for the owner.
 */
type RunFailure = {
  kind: "input_unreachable" | "interrupted" | "content_rejected" | null;
  stage: Stage | null;
  sentence: string;
};

export function readFailure(error: unknown): RunFailure {
  const said = typeof error === "string" ? error : JSON.stringify(error ?? "");
  const sentence = redactedLine(error);
  if (INPUT_FILE.test(said) && NOT_READ.test(said) && !UNUSABLE.test(said))
    return { kind: "input_unreachable", stage: null, sentence };
  if (isContentRejected(said)) {
    const stage = stageOf(said);
    return { kind: "content_rejected", stage, sentence: contentRejected(stage, sentence) };
  }
  return { kind: isInterrupted(said) ? "interrupted" : null, stage: null, sentence };
}

/** What to change after content was rejected, with the provider's explanation. */
export function contentRejected(stage: Stage | null, explanation: string): string {
  const what =
    stage === null ? "the prompt, an image or the result" : stage === "input" ? "the prompt or an image" : "the result";
  const ours = `The model's safety filter rejected ${what}. Try different wording or images.`;
  return explanation === "" ? ours : `${ours} The provider said: “${explanation}”`;
}

/** The path of an input file that we gave to a run: in our Storage, or uploaded to the provider (submit.ts). */
const INPUT_FILE = /\/storage\/v1\/object\/sign\/|\/v1\/files\//;
/**
 * Messages about a file that was not read: `502 Server Error: Bad Gateway for url: …`, `HTTPSConnectionPool(…): Max retries exceeded with
 * url: …`, `Client error '404 …' for url …`, `Failed to fetch image from …: 403`.
 */
const NOT_READ =
  /(?:client|server) error|max retries exceeded|timed out|connection (?:refused|reset|aborted)|(?:cannot|can't|could not|couldn't|unable to|failed to|error) (?:fetch|connect|download|retriev)|\b(?:4\d\d|50\d)(?: (?:bad|unauthorized|forbidden|not found|gone|internal|service)\b|\W*$)/i;
/** The message about an image that was read but is not usable also names its address. Such an image would fail again. */
const UNUSABLE =
  /cannot identify|not (?:a valid|an?|recognized as an?) image|unsupported|invalid image|corrupt|too (?:large|small|big)|must be/i;

const codeIn = (said: string): string | undefined => /\((E\d{3,4})\)|^(E\d{3,4}):/.exec(said)?.slice(1).join("");

/**
 * Codes of Replicate that name a cause of its own (replicate.com/docs/reference/error-codes and reports of 2026): unknown, too late to start,
 * interrupted, unhealthy, "Director: unexpected error". Codes of official models: high demand, temporarily unavailable. E1001 (out of memory)
 * is not listed, because it would happen again.
 */
const TRANSIENT_CODES = ["E1000", "E6716", "E8367", "E8765", "E9828", "E003", "E004"];

function isInterrupted(said: string): boolean {
  const code = codeIn(said);
  if (code !== undefined) return TRANSIENT_CODES.includes(code);
  return /prediction interrupted|\(code: PA\)|director: unexpected error/i.test(said);
}

/**
 * Words for rejected content: `The input or output was flagged as sensitive … (E005)` of Replicate's official models, `NSFW content` of its
 * safety checker, and those of the vendors: Google, ByteDance (…SensitiveContentDetected), MiniMax (… new_sensitive), Black Forest Labs (…
 * Moderated), Kling (risk control).
 */
const REJECTED =
  /\bnsfw\b|\bflagged\b|sensitive (?:words|content|information)|sensitivecontentdetected|new_sensitive|(?:request|content) moderated|content moderat|ai moderator|risk control|violat\w+ .{0,60}(?:polic|guidelines|practices|terms)|prohibited_content|image_safety|may contain (?:a )?real person|blocked .{0,40}(?:safety|policy|moderation)/i;

const isContentRejected = (said: string) => codeIn(said) === "E005" || (REJECTED.test(said) && !isAboutMoney(said));

/** `Your account was flagged due to low credit` is about the account, not the content. */
export const isAboutMoney = (said: string): boolean =>
  /\b(?:low|insufficient|no|not enough|out of|run out of)\b[^.]{0,20}\b(?:credits?|balance|funds)\b|\bbilling\b|\bpayment (?:method|is|required)/i.test(
    said,
  );

/** Advice such as `Try again with a different prompt.` names the input even if the output was rejected. */
const ADVICE = /(?:^|(?<=[.!?] ))(?:please|try)\b[^.!?]*/gi;
const INPUT = /\bprompt|\binput|\buploaded|\breference|request moderated|real person/i;
const OUTPUT = /\boutput|\bgenerated|\bresult|content moderated|image_safety|\bnsfw\b/i;

function stageOf(said: string): Stage | null {
  const words = said.replace(ADVICE, "");
  const isInput = INPUT.test(words);
  if (isInput) return OUTPUT.test(words.replace(/\bnsfw\b/gi, "")) ? null : "input";
  return OUTPUT.test(words) ? "output" : null;
}
