import { Group, Text } from "@mantine/core";

/** The diamond of a key frame, and the name. */
export function Brand() {
  return (
    <Group gap="xs" wrap="nowrap">
      <img src="./favicon.svg" alt="" width={28} height={28} />
      <Text span fw={700} size="lg">
        Keyframe
      </Text>
    </Group>
  );
}
