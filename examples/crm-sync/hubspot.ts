import type { Change, Crm, Field } from "./crm.ts";
import { type Ask, type HubSpotAnswer, refusal } from "./hubspot-request.ts";

/** Custom properties, made by set-up-hubspot.ts. Their values are unique in HubSpot: it refuses a second object itself. */
export const CONTACT_KEY = "keyframe_owner_id";
export const DEAL_KEY = "keyframe_project_id";

/** Which property of a deal holds which field. */
export const PROPERTY_OF: Record<Field, string> = {
  title: "dealname",
  textPrompt: "keyframe_text_prompt",
  description: "description",
  firstFrame: "keyframe_first_frame",
  lastFrame: "keyframe_last_frame",
  video: "keyframe_video",
};

/** HubSpot's own number for "deal to contact". */
const DEAL_TO_CONTACT = 3;

export type Pipeline = { pipeline: string; stage: string };

/**
 * HubSpot as the CRM: a contact for each owner, a deal for each project. One request for a deal that is there, four for the
 * first. Only the event's fields are written, so a deal that was renamed or moved to another stage stays so.
 */
export function createHubSpot(ask: Ask, { pipeline, stage }: Pipeline): Crm {
  const dealAt = (projectId: string) => `/crm/v3/objects/deals/${encodeURIComponent(projectId)}?idProperty=${DEAL_KEY}`;
  const contactAt = (ownerId: string) =>
    `/crm/v3/objects/contacts/${encodeURIComponent(ownerId)}?idProperty=${CONTACT_KEY}`;

  async function findContact(ownerId: string, signal: AbortSignal): Promise<HubSpotAnswer> {
    const found = await ask("GET", contactAt(ownerId), undefined, signal);
    if (found.status !== 404) return found;
    const properties = { [CONTACT_KEY]: ownerId, lastname: `Keyframe user ${ownerId.slice(0, 8)}` };
    const created = await ask("POST", "/crm/v3/objects/contacts", { properties }, signal);
    if (created.ok) return created;
    // There after all: it was created by a request whose answer was lost, or by another client just now.
    const again = await ask("GET", contactAt(ownerId), undefined, signal);
    return again.ok ? again : created;
  }

  async function createDeal({ projectId, ownerId }: Change, properties: Record<string, string>, signal: AbortSignal) {
    const contact = await findContact(ownerId, signal);
    if (!contact.ok) throw refusal(contact);
    return await ask(
      "POST",
      "/crm/v3/objects/deals",
      {
        properties: {
          [DEAL_KEY]: projectId,
          dealname: `Keyframe project ${projectId.slice(0, 8)}`, // until project.created brings its title
          pipeline,
          dealstage: stage,
          ...properties,
        },
        associations: [
          {
            to: { id: contact.id },
            types: [{ associationCategory: "HUBSPOT_DEFINED", associationTypeId: DEAL_TO_CONTACT }],
          },
        ],
      },
      signal,
    );
  }

  return {
    async save(change, _webhookId, signal) {
      const fields = Object.entries(change.fields) as [Field, string][]; // the keys are those of Change["fields"]
      const properties = Object.fromEntries(fields.map(([field, value]) => [PROPERTY_OF[field], value]));
      const update = () => ask("PATCH", dealAt(change.projectId), { properties }, signal);
      const updated = await update();
      if (updated.ok) return;
      if (updated.status !== 404) throw refusal(updated);
      const created = await createDeal(change, properties, signal);
      if (created.ok) return;
      const again = await update(); // there after all, as above
      if (!again.ok) throw refusal(again.status === 404 ? created : again);
    },
  };
}
