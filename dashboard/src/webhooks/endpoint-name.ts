import type { Webhook } from "../../../client/index.ts";

const LONGEST = 60;

/** What an endpoint is called: its description where that is short, else where it is. */
export function endpointName({ url, description }: Pick<Webhook, "url" | "description">): string {
  const text = description.trim();
  if (text !== "" && text.length <= LONGEST && !text.includes("\n")) return text;
  return URL.canParse(url) ? new URL(url).host : url;
}
