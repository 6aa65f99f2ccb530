//! Functions of IP addresses and their ranges.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Function, Outcome, function, strings};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::Value;

pub(super) const IP: &[Function] = &[
    function("ip", &["(string) IP"], |meter, args| {
        Ok(Value::Ip(address(meter, args)?.map_err(Error::failed)?))
    }),
    function("isIP", &["(string) bool"], |meter, args| {
        Ok(Value::Bool(address(meter, args)?.is_ok()))
    }),
    function("ip.isCanonical", &["(string) bool"], |meter, args| {
        let text = strings::text(args, 0)?;
        let address = address(meter, args)?.map_err(Error::failed)?;
        Ok(Value::Bool(address.to_string() == **text))
    }),
    function("family", &["IP.() int"], |meter, args| {
        Ok(Value::Int(if ip(meter, args)?.is_ipv4() { 4 } else { 6 }))
    }),
    function("isUnspecified", &["IP.() bool"], |meter, args| {
        Ok(Value::Bool(ip(meter, args)?.is_unspecified()))
    }),
    function("isLoopback", &["IP.() bool"], |meter, args| {
        Ok(Value::Bool(ip(meter, args)?.is_loopback()))
    }),
    function("isLinkLocalMulticast", &["IP.() bool"], |meter, args| {
        Ok(Value::Bool(match ip(meter, args)? {
            IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
            IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
        }))
    }),
    function("isLinkLocalUnicast", &["IP.() bool"], |meter, args| {
        Ok(Value::Bool(is_link_local(ip(meter, args)?)))
    }),
    function("isGlobalUnicast", &["IP.() bool"], |meter, args| {
        let address = ip(meter, args)?;
        let special = address.is_unspecified()
            || address.is_loopback()
            || address.is_multicast()
            || address == IpAddr::V4(Ipv4Addr::BROADCAST)
            || is_link_local(address);
        Ok(Value::Bool(!special))
    }),
    function("string", &["(IP) string"], |meter, args| {
        Ok(ip(meter, args)?.to_string().into())
    }),
];

pub(super) const CIDR: &[Function] = &[
    function("cidr", &["(string) CIDR"], |meter, args| {
        let (address, length) = range(meter, args, 0)?.map_err(Error::failed)?;
        Ok(Value::Cidr(address, length))
    }),
    function("isCIDR", &["(string) bool"], |meter, args| {
        Ok(Value::Bool(range(meter, args, 0)?.is_ok()))
    }),
    function(
        "containsIP",
        &["CIDR.(string) bool", "CIDR.(IP) bool"],
        contains_ip,
    ),
    function(
        "containsCIDR",
        &["CIDR.(string) bool", "CIDR.(CIDR) bool"],
        contains_cidr,
    ),
    function("ip", &["CIDR.() IP"], |meter, args| {
        Ok(Value::Ip(cidr(meter, args)?.0))
    }),
    function("prefixLength", &["CIDR.() int"], |meter, args| {
        Ok(Value::Int(cidr(meter, args)?.1.into()))
    }),
    function("masked", &["CIDR.() CIDR"], |meter, args| {
        let (address, length) = cidr(meter, args)?;
        Ok(Value::Cidr(masked(address, length), length))
    }),
    function("string", &["(CIDR) string"], |meter, args| {
        let (address, length) = cidr(meter, args)?;
        Ok(format!("{address}/{length}").into())
    }),
];

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn parse_address(text: &str) -> Result<IpAddr, String> {
    let parse_error =
        |why: &str| format!("IP Address {text:?} parse error during conversion from string: {why}");
    if text.contains('%') {
        return Err(format!("IP address {text:?} with zone value is not allowed"));
    }
    let address: IpAddr = text.parse().map_err(|_| parse_error("unable to parse IP"))?;
    match address {
        IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"))
        }
        address => Ok(address),
    }
}

fn address(meter: &mut Meter, args: &[Value<'_>]) -> Result<Result<IpAddr, String>, Error> {
    let text = strings::text(args, 0)?;
    meter.charge_bytes(text.len())?;
    Ok(parse_address(text))
}

fn range(meter: &mut Meter, args: &[Value<'_>], index: usize) -> Result<Result<(IpAddr, u8), String>, Error> {
    let text = strings::text(args, index)?;
    meter.charge_bytes(text.len())?;
    let parse_error = || {
        format!(
            "network address parse error during conversion from string: {:?}",
            &**text
        )
    };
    Ok(text
        .split_once('/')
        .ok_or_else(parse_error)
        .and_then(|(address, length)| {
            let address = parse_address(address)?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            let canonical = length == "0" || !length.starts_with(['0', '+', '-']);
            let length: u8 = length.parse().map_err(|_| parse_error())?;
            if length > most || !canonical {
                return Err(parse_error());
            }
            Ok((address, length))
        }))
}

fn masked(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or_default();
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or_default();
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

fn ip(meter: &mut Meter, args: &[Value<'_>]) -> Result<IpAddr, Error> {
    meter.charge(1)?;
    match args.first() {
        Some(Value::Ip(address)) => Ok(*address),
        _ => Err(Error::no_such_overload()),
    }
}

fn cidr(meter: &mut Meter, args: &[Value<'_>]) -> Result<(IpAddr, u8), Error> {
    meter.charge(1)?;
    match args.first() {
        Some(Value::Cidr(address, length)) => Ok((*address, *length)),
        _ => Err(Error::no_such_overload()),
    }
}

fn contains_address((range, length): (IpAddr, u8), address: IpAddr) -> bool {
    range.is_ipv4() == address.is_ipv4() && masked(range, length) == masked(address, length)
}

fn contains_ip<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let range = cidr(meter, args)?;
    let address = match &args[1] {
        Value::Ip(address) => *address,
        _ => address(meter, &args[1..])?.map_err(Error::failed)?,
    };
    Ok(Value::Bool(contains_address(range, address)))
}

fn contains_cidr<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let outer = cidr(meter, args)?;
    let (address, length) = match &args[1] {
        Value::Cidr(address, length) => (*address, *length),
        _ => range(meter, args, 1)?.map_err(Error::failed)?,
    };
    Ok(Value::Bool(outer.1 <= length && contains_address(outer, address)))
}
