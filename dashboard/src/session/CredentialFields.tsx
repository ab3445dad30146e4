import type { UseFormReturnType } from "@mantine/form";
import { EmailField } from "./EmailField.tsx";
import { PasswordField } from "./PasswordField.tsx";

export type Credentials = { email: string; password: string };

type Props = { form: UseFormReturnType<Credentials>; isNew: boolean };

export function CredentialFields({ form, isNew }: Props) {
  return (
    <>
      <EmailField key={form.key("email")} {...form.getInputProps("email")} />
      <PasswordField label="Password" isNew={isNew} key={form.key("password")} {...form.getInputProps("password")} />
    </>
  );
}
