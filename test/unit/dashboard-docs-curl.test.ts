import { expect, test } from "vitest";
import { curlOf, quote } from "../../dashboard/src/docs/curl-of.ts";
import { tokenByCurl } from "../../dashboard/src/docs/token-code.ts";
import { FUNCTIONS_URL, operation, operations } from "./dashboard-docs-fixture.ts";

/** Runs a script in a real shell, where curl only tells its arguments, each ended by a zero byte. */
async function argumentsOf(script: string): Promise<string[]> {
  const { code, stdout } = await new Deno.Command("sh", {
    args: ["-eu", "-c", `curl() { printf '%s\\0' "$@"; }\n${script}`],
    env: { TOKEN: "the token" },
  }).output();
  expect(code).toBe(0);
  return new TextDecoder().decode(stdout).split("\0").slice(0, -1);
}

const called = operations.filter(({ isEvent }) => !isEvent);

test.each(called.map((one) => [one.id, one] as const))(
  "%s: each example, pasted into a shell → its method, address, token and body",
  async (_, one) => {
    expect(one.examples.length).toBeGreaterThan(0);
    for (const example of one.examples) {
      const given = await argumentsOf(curlOf(one, example, FUNCTIONS_URL));
      expect(given.includes("-X") ? given[given.indexOf("-X") + 1] : "GET").toBe(one.method);

      const url = new URL(given.find((argument) => argument.startsWith("https://")) ?? "");
      expect(url.href.startsWith(`${FUNCTIONS_URL}/api/`)).toBe(true);
      expect(url.href).not.toMatch(/[{}]|%7B/);
      for (const value of Object.values(example.path ?? {})) expect(url.pathname.split("/")).toContain(value);
      expect(Object.fromEntries(url.searchParams)).toEqual(example.query ?? {});

      expect(given.includes("Authorization: Bearer the token")).toBe(one.callers.length > 0);
      const body = given.indexOf("-d");
      expect(body < 0 ? undefined : JSON.parse(given[body + 1] ?? "")).toEqual(example.body);
      expect(given.includes("Content-Type: application/json")).toBe(body >= 0);
    }
  },
);

test("texts with quotes, dollars, backslashes and line ends → the body as it is", async () => {
  const body = { title: `It's "$HOME" \`id\` \\ 50%\nend`, description: "''" };
  const given = await argumentsOf(curlOf(operation("createProject"), { summary: "", body }, FUNCTIONS_URL));
  expect(JSON.parse(given.at(-1) ?? "")).toEqual(body);
});

test("a value that would change the address → escaped", async () => {
  const example = { summary: "", path: { projectId: "a/../b?c#d" }, query: { step: "a&b=c d" } };
  const given = await argumentsOf(curlOf(operation("listPredictions"), example, FUNCTIONS_URL));
  expect(given[0]).toBe(`${FUNCTIONS_URL}/api/projects/a%2F..%2Fb%3Fc%23d/predictions?step=a%26b%3Dc+d`);
});

test("an image → its bytes from a file, not as text", async () => {
  const one = operation("uploadReferenceImage");
  const given = await argumentsOf(curlOf(one, one.examples[0] ?? { summary: "" }, FUNCTIONS_URL));
  expect(given.slice(-3)).toEqual(["Content-Type: image/png", "--data-binary", "@photo.png"]);
  expect(given).not.toContain("-d");
});

test("any text → one word for the shell", async () => {
  for (const text of ["", "'", "a'b''c", "$(id)", "*", "-n", "two\nlines"]) {
    expect(await argumentsOf(`curl ${quote(text)}`)).toEqual([text]);
  }
});

test("the sign-in command → TOKEN is the token of the answer, compact or spaced", async () => {
  const project = { supabaseUrl: "https://abc.supabase.co", publishableKey: "sb_publishable_x" };
  const command = tokenByCurl(project, "o'neil@example.com");
  for (const answer of ['{"access_token":"ey.A-b_c","token_type":"bearer"}', '{"a":1, "access_token": "ey.A-b_c"}']) {
    const script = `curl() { printf '%s\\n' "$@" >&2; echo '${answer}'; }\n${command}\nprintf %s "$TOKEN"`;
    const { stdout, stderr } = await new Deno.Command("sh", { args: ["-eu", "-c", script] }).output();
    expect(new TextDecoder().decode(stdout)).toBe("ey.A-b_c");
    const told = new TextDecoder().decode(stderr).split("\n");
    expect(told).toContain("https://abc.supabase.co/auth/v1/token?grant_type=password");
    expect(told).toContain("apikey: sb_publishable_x");
    expect(told).toContain('{"email":"o\'neil@example.com","password":"your password"}');
  }
});
