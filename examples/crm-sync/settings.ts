import { z } from "zod";

const url = z.url({ protocol: /^https?$/ }).transform((text) => text.replace(/\/+$/, ""));

export const hubSpotSettings = z.object({
  /** Of a private app, with the scopes that README.md names. */
  HUBSPOT_TOKEN: z.string().min(1),
  HUBSPOT_API_URL: url.default("https://api.hubapi.com"),
});

export const settings = z.object({
  /** `whsec_…`; during a rotation both, comma separated. */
  WEBHOOK_SECRET: z.string().regex(/^whsec_[^,]+(,whsec_[^,]+)*$/, "must be whsec_…, or several with commas between"),
  HOST: z.string().default("127.0.0.1"),
  PORT: z.coerce.number().int().min(0).max(65_535).default(54_391),
  STORE_FILE: z.string().default(".keyframe/crm-sync.sqlite"),
  ...hubSpotSettings.partial({ HUBSPOT_TOKEN: true }).shape,
  HUBSPOT_PIPELINE: z.string().default("default"),
  HUBSPOT_DEAL_STAGE: z.string().default("appointmentscheduled"),
  /** Without HUBSPOT_TOKEN: where the lines of JSON go, instead of standard output. */
  JSON_FILE: z.string().optional(),
});

/** Reads the environment; an empty variable counts as missing. Throws one line that names what is wrong, never its value. */
export function readSettings<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  environment: Record<string, string | undefined>,
): z.output<z.ZodObject<Shape>> {
  const names = Object.keys(schema.shape);
  const read = schema.safeParse(Object.fromEntries(names.map((name) => [name, environment[name] || undefined])));
  if (read.success) return read.data;
  const wrong = read.error.issues.map(({ path, message }) => `${path.join(".")} (${message})`);
  throw new Error(`The environment is missing or wrong: ${wrong.join(", ")}.`);
}
