import { Group, SegmentedControl, Text } from "@mantine/core";
import { useId } from "@mantine/hooks";

type Props = { durations: number[]; value: number | null; onChange: (seconds: number) => void };

/** How long the video will be: what the model offers, its own choice first. Its place is kept while that is being read. */
export function DurationChoice({ durations, value, onChange }: Props) {
  const label = useId();
  const sorted = durations.toSorted((one, other) => one - other);
  const chosen = value !== null && durations.includes(value) ? value : durations[0];
  return (
    <Group gap="sm" mih={34} wrap="nowrap">
      {chosen !== undefined && (
        <>
          <Text size="sm" id={label}>
            Length
          </Text>
          <SegmentedControl
            size="sm"
            aria-labelledby={label}
            data={sorted.map((seconds) => ({ value: String(seconds), label: `${seconds} s` }))}
            value={String(chosen)}
            onChange={(seconds) => onChange(Number(seconds))}
          />
        </>
      )}
    </Group>
  );
}
