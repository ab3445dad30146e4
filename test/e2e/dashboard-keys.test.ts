import { expect, inject, test } from "vitest";
import { createKeyframeClient, type KeyframeError } from "../../client/index.ts";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { newPerson } from "../support/dashboard/person.ts";

const visit = visitDashboard();

test("a key is created by keyboard → shown once, with lines for each program; it works until it is revoked on a phone", async () => {
  const { url } = inject("stack");
  const person = await newPerson();
  const { page } = await visit({ session: person.session });
  await page.goto("/#/keys");
  await page.getByText("No keys yet").waitFor();
  await expectGoodLooks(page);
  await page.getByRole("button", { name: "New key" }).press("Enter");
  const window = page.getByRole("dialog");
  await window.getByRole("heading", { name: "New key" }).waitFor();
  await page.keyboard.press("Enter"); // without a name
  await window.getByText("Enter a name.").waitFor();
  await page.keyboard.type("Claude Code");
  await expectGoodLooks(page);
  await window.getByLabel("Generate", { exact: true }).press("ArrowUp");
  expect(await window.getByLabel("The most it may spend a day").count()).toBe(0); // to read costs nothing
  await page.keyboard.press("ArrowDown");
  await window.getByLabel("The most it may spend a day").fill("2.50");
  await window.getByLabel("The key ends").selectOption({ label: "After 90 days" });
  await window.getByRole("button", { name: "Create key" }).press("Enter");
  await window.getByText("Copy the key of “Claude Code” now").waitFor();
  const key = (await window.locator("pre").first().textContent()) ?? "";
  expect(key).toMatch(/^kf_[0-9a-f]{72}$/);
  const mcp = `${url}/functions/v1/keyframe-mcp`;
  for (const [program, line] of [
    ["Claude Code", `claude mcp add --transport http keyframe ${mcp} --header "Authorization: Bearer ${key}"`],
    ["Cursor", `"Authorization": "Bearer ${key}"`],
    ["VS Code", `"type": "http"`],
    ["Codex", `codex mcp add keyframe --url ${mcp} --bearer-token-env-var KEYFRAME_KEY`],
    ["curl", `curl ${url}/functions/v1/api/projects -H "Authorization: Bearer ${key}"`],
  ] as const) {
    await window.getByLabel("Use it in").selectOption(program);
    await window.getByRole("button", { name: `Copy lines for ${program}` }).waitFor();
    expect(await window.locator("pre").last().textContent()).toContain(line);
  }
  await expectGoodLooks(page);
  await page.keyboard.press("Escape");
  await window.waitFor({ state: "detached" });
  expect(await page.locator("body").textContent()).not.toContain(key.slice(0, 40));

  const script = createKeyframeClient({ url, userKey: key, retries: 0 });
  const { projectId } = await script.createProject({ title: "Harbour", textPrompt: "A harbour" });
  await expect(script.deleteProject(projectId)).rejects.toMatchObject({ code: "client_not_allowed" });
  await expect(script.keys.list()).rejects.toMatchObject({ code: "client_not_allowed" });

  const { page: phone } = await visit({ session: person.session, isPhone: true });
  await phone.goto("/#/projects");
  await phone.getByRole("button", { name: "Open navigation" }).tap();
  await phone.getByRole("link", { name: "Keys" }).tap();
  const card = phone.getByRole("listitem").filter({ hasText: "Claude Code" });
  await card.getByText(/^At most \$2\.50 a day\. Created .*, ends in .*, last used /).waitFor();
  await card.getByText(`${key.slice(0, 19)}…`).waitFor();
  await expectGoodLooks(phone);
  await card.getByRole("button", { name: "Revoke" }).tap();
  await phone.getByRole("dialog").getByText("What uses “Claude Code” is refused from now on.").waitFor();
  await expectGoodLooks(phone);
  await phone.getByRole("button", { name: "Revoke key" }).tap();
  await card.getByText("Ended", { exact: true }).waitFor();
  expect(await card.getByRole("button").count()).toBe(0);
  const refused = await script.listProjects().catch((error: KeyframeError) => error.code);
  expect(refused).toBe("key_ended");
});
