/** Variables of the functions that a person may set beside KEYFRAME_REPLICATE_API_TOKEN, and which function reads each. */
const PASSED_ON = {
  "keyframe-generate": ["KEYFRAME_REPLICATE_API_BASE_URL", "KEYFRAME_REPLICATE_OUTPUT_HOSTS", "KEYFRAME_PUBLIC_URL"],
  "keyframe-replicate-webhook": ["KEYFRAME_REPLICATE_WEBHOOK_SECRET"],
} as const;

const DEFAULT_BASE_URL = "https://api.replicate.com/v1";
const DEFAULT_OUTPUT_HOSTS = "replicate.delivery";

/** The provider instead of the simulator. */
export type ProviderSettings = {
  token: string;
  /** What else was set, by the name of the function's variable. */
  variables: Record<string, string>;
};

/** Undefined without KEYFRAME_REPLICATE_API_TOKEN. Throws one line when callbacks are wanted that could not be verified. */
export function readProviderSettings(environment: (name: string) => string | undefined): ProviderSettings | undefined {
  const token = environment("KEYFRAME_REPLICATE_API_TOKEN") || undefined;
  if (token === undefined) return undefined;
  const names = [...PASSED_ON["keyframe-generate"], ...PASSED_ON["keyframe-replicate-webhook"]];
  const variables: Record<string, string> = {};
  for (const name of names) {
    const value = environment(name);
    if (value) variables[name] = value;
  }
  if (variables.KEYFRAME_PUBLIC_URL !== undefined && variables.KEYFRAME_REPLICATE_WEBHOOK_SECRET === undefined) {
    throw new Error(
      "KEYFRAME_PUBLIC_URL asks Replicate for callbacks, which only KEYFRAME_REPLICATE_WEBHOOK_SECRET can verify: set both or neither.",
    );
  }
  return { token, variables };
}

/** What the function gets of it. */
export function providerVariables(
  { token, variables }: ProviderSettings,
  name: "keyframe-generate" | "keyframe-replicate-webhook",
): Record<string, string> {
  const passed = Object.entries(variables).filter(([key]) => PASSED_ON[name].some((known) => known === key));
  return {
    ...(name === "keyframe-generate" ? { KEYFRAME_REPLICATE_API_TOKEN: token } : {}),
    ...Object.fromEntries(passed),
  };
}

/** `host:port` of the provider's API and of where it keeps outputs. The function itself refuses what cannot be read. */
export function providerHosts({ variables }: ProviderSettings): string[] {
  const outputs = (variables.KEYFRAME_REPLICATE_OUTPUT_HOSTS ?? DEFAULT_OUTPUT_HOSTS)
    .split(",")
    .map((entry) => entry.trim());
  const addresses = [variables.KEYFRAME_REPLICATE_API_BASE_URL ?? DEFAULT_BASE_URL, ...outputs];
  return addresses.flatMap((address) => {
    if (!address.includes("://")) return address === "" ? [] : [`${address}:443`, `*.${address}:443`];
    if (!URL.canParse(address)) return [];
    const { hostname, port, protocol } = new URL(address);
    return [`${hostname}:${port || (protocol === "https:" ? 443 : 80)}`];
  });
}
