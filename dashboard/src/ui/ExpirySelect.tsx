import { NativeSelect } from "@mantine/core";

type Props = { label: string; days: number[]; value: string; onChange: (days: string) => void };

/** When a link or a key expires. An empty value means never. */
export const ExpirySelect = ({ label, days, value, onChange }: Props) => (
  <NativeSelect
    label={label}
    data={[
      { value: "", label: "Never (until I revoke it)" },
      ...days.map((count) => ({ value: `${count}`, label: count === 1 ? "After a day" : `After ${count} days` })),
    ]}
    value={value}
    onChange={({ currentTarget }) => onChange(currentTarget.value)}
  />
);

/** The midnight after so many whole days, so that a repeated request asks for the same time. Undefined without days. */
export function expiryAfter(days: string): string | undefined {
  if (days === "") return undefined;
  const end = new Date();
  end.setHours(24 * (Number(days) + 1), 0, 0, 0);
  return end.toISOString();
}
