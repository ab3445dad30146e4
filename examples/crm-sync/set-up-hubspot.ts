import process from "node:process";
import { createAsk, refusal } from "./hubspot.ts";

// The custom properties that change.ts and hubspot.ts write; `dealname` and `description` are HubSpot's own. The keys are unique: HubSpot
// itself then refuses a second contact of an owner and a second deal of a project.
const text = { type: "string", fieldType: "text" };
const PROPERTIES = [
  ["contacts", { name: "keyframe_owner_id", label: "Keyframe owner", ...text, hasUniqueValue: true }],
  ["deals", { name: "keyframe_project_id", label: "Keyframe project", ...text, hasUniqueValue: true }],
  ["deals", { name: "keyframe_text_prompt", label: "Keyframe prompt", ...text, fieldType: "textarea" }],
  ["deals", { name: "keyframe_first_frame", label: "Keyframe first frame", ...text }],
  ["deals", { name: "keyframe_last_frame", label: "Keyframe last frame", ...text }],
  ["deals", { name: "keyframe_video", label: "Keyframe video", ...text }],
] as const;
const GROUPS = { contacts: "contactinformation", deals: "dealinformation" };

const { HUBSPOT_TOKEN = "", HUBSPOT_API_URL = "https://api.hubapi.com" } = process.env;
const ask = createAsk(HUBSPOT_API_URL, HUBSPOT_TOKEN);
try {
  for (const [object, property] of PROPERTIES) {
    const body = { groupName: GROUPS[object], ...property };
    const answer = await ask("POST", `/crm/v3/properties/${object}`, body);
    if (!answer.ok && answer.status !== 409) throw refusal(answer);
    console.log(`${object}.${property.name}: ${answer.ok ? "created" : "was there already"}`);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
