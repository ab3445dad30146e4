import { Group, Text } from "@mantine/core";

export const Brand = () => (
  <Group gap="xs" wrap="nowrap">
    <img src="./favicon.svg" alt="" width={28} height={28} />
    <Text span fw={700} size="lg">
      Keyframe
    </Text>
  </Group>
);
