import { Badge, Group, Text } from "@mantine/core";
import { eventWords } from "./event-words.ts";

/** Which events an endpoint gets; an empty list means all. */
export function EventBadges({ types }: { types: string[] }) {
  if (types.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        Gets all events
      </Text>
    );
  }
  return (
    <Group gap={6}>
      {types.map((type) => (
        <Badge key={type} variant="default" tt="none" fw={500} radius="sm" title={eventWords(type)}>
          {type}
        </Badge>
      ))}
    </Group>
  );
}
