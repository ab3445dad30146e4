import { parseOptions } from "../../local/stack/command-line.ts";

export const DEFAULT_RECEIVER_PORT = 54390;

type ReceiverArguments = {
  port: number;
  secrets: string[];
  failFirst: number;
  hangMs: number;
  json: boolean;
};

/** Reads command line and environment. Throws one line that names what is wrong. */
export function readReceiverArguments(
  args: string[],
  environment: (name: string) => string | undefined,
): ReceiverArguments {
  const { values } = parseOptions({
    args,
    options: {
      port: { type: "string", default: String(DEFAULT_RECEIVER_PORT) },
      secret: { type: "string", multiple: true },
      fail: { type: "string", default: "0" },
      hang: { type: "string", default: "0" },
      json: { type: "boolean", default: false },
    },
  });
  const given = values.secret ?? [environment("WEBHOOK_SECRET") ?? ""];
  return {
    port: readNumber("--port", values.port, 65_535),
    secrets: given
      .flatMap((list) => list.split(","))
      .map((one) => one.trim())
      .filter((one) => one !== ""),
    failFirst: readNumber("--fail", values.fail, 1_000_000),
    hangMs: readNumber("--hang", values.hang, 3600) * 1000,
    json: values.json,
  };
}

function readNumber(option: string, text: string, most: number): number {
  if (/^\d{1,7}$/.test(text) && Number(text) <= most) return Number(text);
  throw new Error(`${option} must be a whole number from 0 to ${most}, not ${text}`);
}

/** What to do without a secret: register the receiver's URL and start it with the secret in the answer. */
export function howToGetASecret(port: number): string {
  return `The receiver needs the secret that signs its events, and it has none. Register its address: the answer carries the secret.

  API=http://127.0.0.1:54321/functions/v1/api        # where npm start serves
  TOKEN=…                                            # a session token: npm start prints the command that gets one
  export WEBHOOK_SECRET=$(curl -s $API/webhooks -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"url":"http://127.0.0.1:${port}/"}' | sed 's/.*"secret":"\\([^"]*\\)".*/\\1/')
  npm run receiver${port === 54390 ? "" : ` -- --port ${port}`}

Registered already? GET $API/webhooks lists your endpoints, GET $API/webhooks/<id>/secret returns the secret again.
More: docs/receive-webhooks.md`;
}
