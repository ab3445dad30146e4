import { parseArgs } from "node:util";

export const DEFAULT_RECEIVER_PORT = 54390;

export type ReceiverArguments = {
  port: number;
  secrets: string[];
  failFirst: number;
  hangMs: number;
  json: boolean;
  help: boolean;
};

/** What the command line and the environment say. Throws one line that names what is wrong. */
export function readReceiverArguments(
  args: string[],
  environment: (name: string) => string | undefined,
): ReceiverArguments {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: "string", default: String(DEFAULT_RECEIVER_PORT) },
      secret: { type: "string", multiple: true },
      fail: { type: "string", default: "0" },
      hang: { type: "string", default: "0" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
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
    help: values.help,
  };
}

function readNumber(option: string, text: string, most: number): number {
  if (/^\d{1,7}$/.test(text) && Number(text) <= most) return Number(text);
  throw new Error(`${option} must be a whole number from 0 to ${most}, not ${text}`);
}
