"""Schema of FRAPP's HEALTH (Table 2); its people are not part of the project."""

from halftruth_shared import Attribute, Schema

_DAYS = ("0–6", "7–14", "15–29", "30–59", "60 or more")

#: Age, days in bed and visits to a doctor in 12 months, phone, sex, family income, and health.
HEALTH = Schema(
    (
        Attribute("AGE", ("0–19", "20–39", "40–59", "60–79", "80 or more")),
        Attribute("BDDAY12", _DAYS),
        Attribute("DV12", _DAYS),
        Attribute("PHONE", ("yes, number given", "yes, no number given", "no")),
        Attribute("SEX", ("male", "female")),
        Attribute("INCFAM20", ("below $20,000", "$20,000 or more")),
        Attribute("HEALTH", ("excellent", "very good", "good", "fair", "poor")),
    )
)
