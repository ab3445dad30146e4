import { CloseButton, Group, Text } from "@mantine/core";
import { Time } from "../ui/Time.tsx";
import type { ChosenFrames, FrameStep } from "./chosen-frames.ts";

type Props = { frames: ChosenFrames; hasLast: boolean; onLatest: (step: FrameStep) => void };

/** What the next video will be made of. */
export function FramesOfVideo({ frames, hasLast, onLatest }: Props) {
  const first = frames["first-frame"];
  const last = frames["last-frame"];
  return (
    <Text size="sm" c="dimmed" component="div">
      {first === undefined && last === undefined
        ? hasLast
          ? "From the latest first frame to the latest last frame."
          : "From the latest first frame on. A last frame says where it ends."
        : (["first-frame", "last-frame"] as const).map((step) => {
            const frame = frames[step];
            const name = step === "first-frame" ? "first frame" : "last frame";
            if (frame === undefined) return null;
            return (
              <Group key={step} gap={4} wrap="nowrap">
                <span>
                  With an earlier {name}: <Time iso={frame.createdAt} />
                </span>
                <CloseButton size="sm" aria-label={`Use the latest ${name} again`} onClick={() => onLatest(step)} />
              </Group>
            );
          })}
    </Text>
  );
}
