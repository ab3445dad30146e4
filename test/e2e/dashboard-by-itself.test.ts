import { expect, test } from "vitest";
import { openDatabase } from "../support/api-database.ts";
import { startStuck } from "../support/api-stuck.ts";
import { signUp } from "../support/api-user.ts";
import { visitDashboard } from "../support/dashboard-browser.ts";
import { stepCard } from "../support/dashboard-film.ts";
import { newPerson } from "../support/dashboard-person.ts";
import { seedDeliveries } from "../support/db-webhooks.ts";

// What a page shows without a reload.

const visit = visitDashboard();
const sql = openDatabase();

test("more starts than slots → the card says its number in line, and moves up when another leaves", async () => {
  const user = await signUp();
  const [projectId, busy] = [await user.createProject({ title: "Harbour" }), await user.createProject()];
  const [settings] = await sql`select max_active_per_owner as slots from keyframe_private.settings`;
  for (let i = 0; i < settings?.slots; i++) await startStuck(sql, user, "first-frame", busy);
  const ahead = await user.start("first-frame", { projectId: busy });
  const { data } = await user.supabase.auth.getSession();
  const { page } = await visit({ session: data.session });
  await page.goto(`/#/projects/${projectId}`);
  const card = stepCard(page, "First frame");
  await card.getByRole("button", { name: "Generate", exact: true }).click();
  await card.getByText("Queued, number 2 in line").first().waitFor();
  await user.post("/api/projects/generate/cancel", { projectId: busy, predictionId: ahead.predictionId });
  await card.getByText("Queued, number 1 in line").first().waitFor();
});

test("a delivery due within 90 s → its result is shown within seconds; one due later → within half a minute", async () => {
  const { session, keyframe } = await newPerson();
  const { page } = await visit({ session });
  await page.clock.install({ time: new Date() });
  let reads = 0;
  page.on("request", (request) => {
    if (request.method() === "GET" && request.url().includes("/deliveries")) reads++;
  });
  for (const [dueInMs, shownWithinMs] of [
    [80_000, 4_000],
    [100_000, 31_000],
  ] as const) {
    const { webhookId } = await keyframe.webhooks.create({
      url: "http://127.0.0.1:65535/hook",
      description: "",
      eventTypes: [],
    });
    const next_attempt_at = new Date(Date.now() + dueInMs);
    const [id = ""] = await seedDeliveries(sql, webhookId, 1, { next_attempt_at });
    await page.goto(`/#/webhooks/${webhookId}`);
    const list = page.getByRole("region", { name: "Deliveries" });
    await list.getByRole("button", { name: /Pending.*project\.created/s }).waitFor();
    await sql`update keyframe.webhook_deliveries set status = 'delivered', completed_at = now() where id = ${id}`;
    const before = reads;
    await page.clock.runFor(shownWithinMs / 2);
    if (shownWithinMs > 10_000) expect(reads).toBe(before);
    await page.clock.runFor(shownWithinMs / 2);
    await list.getByRole("button", { name: /Delivered.*project\.created/s }).waitFor();
  }
});
