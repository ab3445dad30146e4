import { expect, test } from "vitest";
import { Receivers } from "../../../lab/chaos/receivers.ts";
import { sign } from "../../../local/sign.ts";

test("a request before its endpoint's secret is known → counted once it is; one signed with another secret is forged", async () => {
  const receivers = new Receivers();
  await receivers.open();
  const body = JSON.stringify({ type: "project.created", data: { ownerId: "o", projectId: "p" } });
  const secret = (text: string) => `whsec_${btoa(text.padEnd(32, "."))}`;
  const send = async (id: string, by: string) => {
    const response = await fetch(receivers.urlOf("crm"), {
      method: "POST",
      headers: sign(by, id, new Date(), body),
      body,
    });
    expect(response.status).toBe(204);
  };
  await send("early", secret("own"));
  await send("forged", secret("another"));
  receivers.know("crm", [secret("own")]);
  const { arrivals, forged } = receivers.results();
  expect(arrivals).toMatchObject([{ hook: "crm", event_id: "early", taken: 1 }]);
  expect(forged).toMatchObject([{ id: "forged" }]);
  await receivers.close();
});
