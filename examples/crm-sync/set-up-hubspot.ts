import process from "node:process";
import { CONTACT_KEY, DEAL_KEY, PROPERTY_OF } from "./hubspot.ts";
import { createAsk, refusal } from "./hubspot-request.ts";
import { hubSpotSettings, readSettings } from "./settings.ts";

const text = (name: string, label: string) => ({ name, label, type: "string", fieldType: "text" });
const unique = (name: string, label: string) => ({ ...text(name, label), hasUniqueValue: true });

/** The custom properties that hubspot.ts writes. `dealname` and `description` are HubSpot's own. */
const PROPERTIES = [
  { object: "contacts", groupName: "contactinformation", property: unique(CONTACT_KEY, "Keyframe owner") },
  ...[
    unique(DEAL_KEY, "Keyframe project"),
    { ...text(PROPERTY_OF.textPrompt, "Keyframe prompt"), fieldType: "textarea" },
    text(PROPERTY_OF.firstFrame, "Keyframe first frame"),
    text(PROPERTY_OF.lastFrame, "Keyframe last frame"),
    text(PROPERTY_OF.video, "Keyframe video"),
  ].map((property) => ({ object: "deals", groupName: "dealinformation", property })),
];

/** Creates what is missing; run again it changes nothing. */
async function setUp(): Promise<void> {
  const env = readSettings(hubSpotSettings, process.env);
  const ask = createAsk({ baseUrl: env.HUBSPOT_API_URL, token: env.HUBSPOT_TOKEN, fetch });
  for (const { object, groupName, property } of PROPERTIES) {
    const signal = AbortSignal.timeout(30_000);
    const answer = await ask("POST", `/crm/v3/properties/${object}`, { groupName, ...property }, signal);
    if (!answer.ok && answer.status !== 409) throw refusal(answer);
    console.log(`${object}.${property.name}: ${answer.ok ? "created" : "was there already"}`);
  }
}

setUp().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
