import { Button, Checkbox, Group, NumberInput, Stack, Text } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { exactTime } from "../ui/format-time.ts";

const USUAL_HOURS = 24;
const MOST_HOURS = 72;
const HOUR_MS = 3_600_000;

type Props = { isBusy: boolean; error: unknown; onRotate: (overlapHours: number) => void; onCancel: () => void };

/** Asks for how long the old secret signs on. At once is confirmed: it breaks a server that has the old one. */
export function RotateForm({ isBusy, error, onRotate, onCancel }: Props) {
  const [given, setGiven] = useState<string | number>(USUAL_HOURS);
  const [isSure, setSure] = useState(false);
  const hours = given === "" ? Number.NaN : Number(given);
  const isValid = Number.isInteger(hours) && hours >= 0 && hours <= MOST_HOURS;
  const isAtOnce = hours === 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isValid && (!isAtOnce || isSure)) onRotate(hours);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <NumberInput
          label="Overlap in hours"
          description={`For how long the old secret signs beside the new one: 0 to ${MOST_HOURS}.`}
          min={0}
          max={MOST_HOURS}
          allowDecimal={false}
          allowNegative={false}
          value={given}
          onChange={setGiven}
          error={isValid ? null : `A whole number from 0 to ${MOST_HOURS}.`}
          data-autofocus
        />
        {isValid && !isAtOnce && (
          <Text size="sm">
            Each request carries both signatures until {exactTime(new Date(Date.now() + hours * HOUR_MS).toISOString())}
            . Give the new secret to your server before then: not one event is lost.
          </Text>
        )}
        {isAtOnce && (
          <>
            <Text size="sm">
              For a secret that got out. Every old one is revoked at once: until your server has the new one it refuses
              what comes, and those events are tried again later.
            </Text>
            <Checkbox
              label="Revoke every old secret now"
              checked={isSure}
              onChange={(event) => setSure(event.currentTarget.checked)}
            />
          </>
        )}
        {error !== null && <ErrorNotice title="The secret was not rotated" error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <BusyButton
            type="submit"
            {...(isAtOnce ? { color: "red.9" } : {})}
            isBusy={isBusy}
            isOff={!isValid || (isAtOnce && !isSure)}
          >
            Rotate
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
}
