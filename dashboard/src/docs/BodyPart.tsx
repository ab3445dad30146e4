import { Text } from "@mantine/core";
import type { ApiOperation } from "./operations-of.ts";
import { Part } from "./Part.tsx";
import { SchemaTree } from "./SchemaTree.tsx";

/** What to send, or of an event what comes. An image has no fields, only its types. */
export function BodyPart({ operation: { bodies, bodyRequired, isEvent } }: { operation: ApiOperation }) {
  if (bodies.length === 0) return null;
  const [, json] = bodies.find(([type]) => type === "application/json") ?? [];
  const title = isEvent ? "What comes" : bodyRequired ? "Body, required" : "Body";
  return (
    <Part title={title}>
      <Text size="sm">
        {bodies.map(([type], at) => (
          <span key={type}>
            {at > 0 && (at === bodies.length - 1 ? " or " : ", ")}
            <code>{type}</code>
          </span>
        ))}
      </Text>
      {json !== undefined && <SchemaTree schema={json} isAnswer={isEvent} />}
    </Part>
  );
}
