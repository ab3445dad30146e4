import { expect, test } from "vitest";
import { describeFunction } from "../../local/stack/describe-children.ts";
import { FUNCTION_NAMES, type FunctionName } from "../../local/stack/function-arguments.ts";

// Each function's process is started with the permissions that the stack gives it, and asks Deno what they allow.

const SECRETS = [
  "SUPABASE_SECRET_KEYS",
  "KEYFRAME_KICK_SECRET",
  "KEYFRAME_REPLICATE_API_TOKEN",
  "KEYFRAME_REPLICATE_WEBHOOK_SECRET",
];
const HOSTS = ["127.0.0.1:54321", "127.0.0.1:54399", "127.0.0.1:5432", "169.254.169.254:80", "api.replicate.com:443"];
const ALLOWED: Record<FunctionName, { secrets: string[]; hosts: string[] }> = {
  api: { secrets: ["SUPABASE_SECRET_KEYS"], hosts: ["127.0.0.1:54321"] },
  "keyframe-mcp": { secrets: ["SUPABASE_SECRET_KEYS"], hosts: ["127.0.0.1:54321"] },
  "keyframe-generate": {
    secrets: ["SUPABASE_SECRET_KEYS", "KEYFRAME_KICK_SECRET", "KEYFRAME_REPLICATE_API_TOKEN"],
    hosts: ["127.0.0.1:54321", "127.0.0.1:54399"],
  },
  "keyframe-replicate-webhook": {
    secrets: ["SUPABASE_SECRET_KEYS", "KEYFRAME_REPLICATE_WEBHOOK_SECRET"],
    hosts: ["127.0.0.1:54321"],
  },
  // Receivers may be anywhere; its own check refuses addresses that are not public (addresses.test.ts).
  "keyframe-deliver": { secrets: ["SUPABASE_SECRET_KEYS", "KEYFRAME_KICK_SECRET"], hosts: HOSTS },
};

const SETTING = {
  dataDir: "/nowhere",
  url: "http://127.0.0.1:54321",
  port: 54321,
  simulatorPort: 54399,
  functionPorts: Object.fromEntries(FUNCTION_NAMES.map((name, i) => [name, 54401 + i])),
};

async function granted(name: FunctionName, asked: Deno.PermissionDescriptor[]): Promise<Deno.PermissionDescriptor[]> {
  // Only what the arguments are made of: neither keys nor the rest matter to them.
  const { args } = describeFunction(
    { ...SETTING, keys: { signingKey: {} } } as Parameters<typeof describeFunction>[0],
    name,
  );
  const probe = `const asked = ${JSON.stringify(asked)};
    const states = await Promise.all(asked.map((one) => Deno.permissions.query(one)));
    console.log(JSON.stringify(asked.filter((_, i) => states[i].state === "granted")));`;
  const script = await Deno.makeTempFile({ prefix: "keyframe-permissions-", suffix: ".ts" });
  try {
    await Deno.writeTextFile(script, probe);
    const command = new Deno.Command(Deno.execPath(), { args: [...args.slice(0, -1), script], stderr: "inherit" });
    return JSON.parse(new TextDecoder().decode((await command.output()).stdout));
  } finally {
    await Deno.remove(script);
  }
}

test.each(FUNCTION_NAMES)(
  "the process of %s → reads its own secrets, connects to its own hosts, and may do nothing else",
  async (name) => {
    const environment = [...SECRETS, "HOME", "SUPABASE_ACCESS_TOKEN"].map((variable) => ({
      name: "env" as const,
      variable,
    }));
    const network = HOSTS.map((host) => ({ name: "net" as const, host }));
    const rest: Deno.PermissionDescriptor[] = [
      { name: "env" },
      { name: "read", path: "/etc/passwd" },
      { name: "write", path: "/tmp" },
      { name: "run" },
      { name: "sys" },
      { name: "ffi" },
    ];
    const { secrets, hosts } = ALLOWED[name];
    expect(await granted(name, [...environment, ...network, ...rest])).toEqual([
      ...environment.filter(({ variable }) => secrets.includes(variable)),
      ...network.filter(({ host }) => hosts.includes(host)),
    ]);
  },
);
