import { expect, test } from "vitest";
import { createDiscovery } from "../../../supabase/functions/keyframe-mcp/discovery.ts";

const PROJECT = "https://ref.supabase.co";
const APP = "https://films.example";
const discovery = createDiscovery(PROJECT, APP);

test.each<[what: string, host: string | null, end: string, resource: string]>([
  ["the app's host", "films.example", "", APP],
  ["the project's own host", "ref.supabase.co", "", PROJECT],
  ["the project's own host in capitals, with a port and a slash", "REF.Supabase.co:443", "/", PROJECT],
  ["the project's own host with a query", "ref.supabase.co", "?project=7", PROJECT],
  ["a host of neither", "evil.example", "", APP],
  ["no host", null, "/?a=b", APP],
])("%s → the metadata's address, which has the typed address without its query", async (...row) => {
  const [, host, end, base] = row;
  const [slash] = end.split("?");
  const headers = host === null ? {} : { "x-forwarded-host": host };
  const challenge = discovery.challenge(new Request(`http://edge/keyframe-mcp${end}`, { headers }));
  const [, address = ""] = /resource_metadata="([^"]*)"/.exec(challenge) ?? [];
  expect(address.startsWith(base)).toBe(true);
  const asked = address.replace(`${base}/functions/v1`, "http://edge");
  const answer = await discovery.metadata(new Request(asked, { headers }))?.json();
  expect(answer.resource).toBe(`${base}/functions/v1/keyframe-mcp${slash}`);
});
