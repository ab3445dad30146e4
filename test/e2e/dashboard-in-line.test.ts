import { test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp } from "../support/api/user.ts";
import { visitDashboard } from "../support/dashboard/browser.ts";
import { stepCard } from "../support/dashboard/film.ts";

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
