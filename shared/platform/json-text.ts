import { z } from "zod";

/** Parses JSON in a text. The parser's message is not used, because it quotes the text, which may be secret. */
export const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: "custom", message: "must be JSON" });
    return z.NEVER;
  }
});
